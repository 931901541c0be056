import type { BullmqJob, BullmqQueue } from './bullmq-queue.js';
import { type Left, Tally } from './import-counts.js';
import { type FoundMessage, type ImportGoal, freshName } from './import-goal.js';
import { type Planned, messageOf, planOf, reasonOf } from './job-plan.js';
import { type Note, type NoteOfStored, hasStored, nextNote, parseNote } from './taken-note.js';

export interface TransferOptions {
  readonly queue: BullmqQueue;
  readonly goal: ImportGoal;
  /** Topic that jobs go to, with `{name}` for the name of a job. */
  readonly topic: string;
  /** Topics that are allowed. */
  readonly topics: ReadonlySet<string>;
}

/** A job that was taken. */
type Taken = BullmqJob & { readonly note: Note };

type LeftTaken = Left & { readonly job: Taken };

/** A job whose message was stored, the note about it, and the message in its place now. */
interface Stored {
  readonly job: BullmqJob;
  readonly note: NoteOfStored;
  readonly seen: FoundMessage | undefined;
}

/**
 * Moves taken jobs step by step: it stores the message far off, notes that, notes that the message goes to its time, moves it
 * there, and removes the job. Each step compares the present state, so jobs can begin at any of them, and others can do the same.
 * See docs/decisions/0116.
 */
export class JobTransfer {
  readonly tally = new Tally();
  readonly #options: TransferOptions;
  #changes = 0;

  constructor(options: TransferOptions) {
    this.#options = options;
  }

  /** Number of jobs that were moved, or that were given back because their messages were lost and can be moved again. */
  get changes(): number {
    return this.#changes;
  }

  /** Moves jobs, and tallies the outcome of each. Those that were not taken stay. */
  async move(jobs: readonly BullmqJob[]): Promise<void> {
    for (const job of jobs) {
      if (!job.note && job.obstacle) this.tally.add({ job, reason: job.obstacle });
      if (job.note?.state === 'unknown') this.tally.add({ job, reason: 'unverified' });
    }
    const taken = jobs.filter(isTaken);
    const stored = await Promise.all(taken.flatMap((job) => (hasStored(job.note) ? [this.#find(job, job.note)] : [])));
    await this.#forget(taken.filter(isGone), stored);

    const there = stored.filter(({ job }) => !isGone(job));
    const inState = (state: Note['state']): Stored[] => there.filter(({ note }) => note.state === state);
    const isNew = await this.#storeAll(taken.filter((job) => job.note.state === 'taken' && !isGone(job)));
    const going = await this.#note([...isNew, ...(await this.#keepFound(inState('stored')))].map(toSent));
    await this.#finish(await this.#send([...going, ...inState('sent')]));
  }

  async #find(job: BullmqJob, note: NoteOfStored): Promise<Stored> {
    return { job, note, seen: await this.#options.goal.look(note.stored) };
  }

  /** Forgets jobs that someone has removed, with their messages if nobody handles them yet. */
  async #forget(jobs: readonly Taken[], stored: readonly Stored[]): Promise<void> {
    const { queue, goal } = this.#options;
    const forgotten = await queue.giveBack(jobs.map((job) => ({ job, note: job.note })));
    await Promise.all(
      stored.map(async ({ job, note, seen }) => {
        if (forgotten.has(job.id) && isOf(seen, note)) await goal.withdraw(note.stored, seen);
      }),
    );
  }

  /** Stores the messages of jobs, due so late that nobody handles them, and notes those that are there. */
  async #storeAll(jobs: readonly Taken[]): Promise<Stored[]> {
    const { goal } = this.#options;
    // A new one each time: someone else may have noted, moved and handled the message that was stored first; then this one is one too many.
    const maker = freshName();
    const plans = jobs.map((job) => ({ job, plan: this.#planOf(job) }));
    const planned = plans.flatMap(({ job, plan }) => (plan.message ? [{ job, message: plan.message }] : []));
    const left = plans.flatMap(({ job, plan }): LeftTaken[] => (plan.message ? [] : [{ ...plan, job }]));
    await Promise.all(planned.map(async ({ job, message }) => goal.store(message, { taking: job.note.taking, maker })));
    // In this order: a message seen now was not lost with an earlier life.
    const lives = await goal.livesOf(planned.map(({ message }) => message));
    const found = await Promise.all(planned.map(async ({ message }) => goal.look(message)));

    const steps: Step[] = [];
    const again: Taken[] = [];
    for (const [n, { job, message }] of planned.entries()) {
      const [seen, life] = [found[n], lives[n]];
      if (!seen || life === undefined) again.push(job);
      else if (seen.maker === undefined || seen.taking !== job.note.taking) left.push({ job, reason: reasonOf(seen) });
      else {
        const { topic, id } = message;
        const note = nextNote(job.note, 'stored', { topic, id, maker: seen.maker, life });
        steps.push({ before: job.note, after: { job, note, seen } });
      }
    }
    await this.#leave(left);
    const noted = await this.#note(steps);
    // Someone else has moved these, which the next note shows, or they were taken away.
    return again.length > 0 ? [...noted, ...(await this.#storeAll(again))] : noted;
  }

  #planOf(job: Taken): Planned | Left {
    const { goal, topic, topics } = this.#options;
    const plan = planOf(job, topic, goal);
    return plan.message && !topics.has(plan.message.topic) ? { job, reason: 'unknown-topic' } : plan;
  }

  /** Gives jobs back to BullMQ, and cancels messages that an import stored before it was killed. */
  async #leave(left: readonly LeftTaken[]): Promise<void> {
    const { queue, goal, topic } = this.#options;
    const given = await queue.giveBack(left.map(({ job }) => ({ job, note: job.note })));
    await Promise.all(
      left.map(async (step) => {
        const { job } = step;
        if (!given.has(job.id)) return;
        this.tally.add(step);
        const message = messageOf(job, topic, goal.now);
        if (!message) return;
        const seen = await goal.look(message);
        if (seen?.taking === job.note.taking) await goal.withdraw(message, seen);
      }),
    );
  }

  /** Returns those whose messages are there. A lost message was never handled: its job goes back to BullMQ. */
  async #keepFound(stored: readonly Stored[]): Promise<Stored[]> {
    const { queue } = this.#options;
    const absent = stored.filter(({ seen, note }) => !isOf(seen, note));
    const { takenAway, lost } = await this.#whyAbsent(absent);
    await this.#finish(takenAway);
    this.#changes += (await queue.giveBack(lost)).size;
    return stored.filter((one) => !absent.includes(one));
  }

  /** Moves messages to their times, and returns those that are there, or were. */
  async #send(sent: readonly Stored[]): Promise<Stored[]> {
    const { goal } = this.#options;
    const moved = await Promise.all(
      sent.map(async ({ job, note, seen }) => isOf(seen, note) && goal.moveTo(note.stored, seen, job.dueAt)),
    );
    const others = await Promise.all(
      sent.filter((_, n) => !moved[n]).map(async ({ job, note }) => this.#find(job, note)),
    );
    // Someone else has moved these, and they may be handled by now.
    const { takenAway, lost } = await this.#whyAbsent(others.filter(({ seen, note }) => !isOf(seen, note)));
    const odd = others.filter(({ seen, note }) => isOf(seen, note) && seen.isFarOff);
    for (const { job } of [...lost, ...odd]) this.tally.add({ job, reason: 'unverified' });
    const there = others.filter(({ seen, note }) => isOf(seen, note) && !seen.isFarOff);
    return [...sent.filter((_, n) => moved[n]), ...there, ...takenAway];
  }

  /** Determines whether absent messages were handled or cancelled, or lost with everything in their partition. */
  async #whyAbsent(
    absent: readonly Stored[],
  ): Promise<{ readonly takenAway: readonly Stored[]; readonly lost: readonly Stored[] }> {
    const lives = await this.#options.goal.livesOf(
      absent.map(({ note }) => note.stored),
      false,
    );
    return {
      takenAway: absent.filter(({ note }, n) => lives[n] === note.stored.life),
      lost: absent.filter(({ note }, n) => lives[n] !== note.stored.life),
    };
  }

  /** Replaces notes, and cancels each message that no note is about. */
  async #note(steps: readonly Step[]): Promise<Stored[]> {
    const { queue, goal } = this.#options;
    const others = await queue.note(
      steps.map(({ before: note, after }) => ({ job: after.job, note, next: after.note })),
    );
    await Promise.all(
      steps.map(async ({ after: { job, note, seen } }) => {
        const other = others.get(job.id);
        if (other === undefined || !seen) return;
        const current = parseNote(other);
        if (!(hasStored(current) && isOf(seen, current))) await goal.withdraw(note.stored, seen);
      }),
    );
    return steps.flatMap(({ after }) => (others.has(after.job.id) ? [] : [after]));
  }

  async #finish(there: readonly Stored[]): Promise<void> {
    const finished = await this.#options.queue.finish(there);
    for (const { job, note } of there) {
      if (finished.has(job.id)) this.tally.add({ message: note.stored });
    }
    this.#changes += finished.size;
  }
}

/** A note, and its replacement. */
interface Step {
  readonly before: Note;
  readonly after: Stored;
}

function toSent({ job, note, seen }: Stored): Step {
  return { before: note, after: { job, note: nextNote(note, 'sent', note.stored), seen } };
}

function isTaken(job: BullmqJob): job is Taken {
  return job.note !== undefined && job.note.state !== 'unknown';
}

/** Whether someone has removed a taken job, and perhaps added it again. */
export function isGone({ note, obstacle }: BullmqJob): boolean {
  return note !== undefined && obstacle === 'no-record';
}

/** Whether a message is the one that was noted. */
export function isOf(seen: FoundMessage | undefined, { taking, stored }: NoteOfStored): seen is FoundMessage {
  return seen?.taking === taking && seen.maker === stored.maker;
}
