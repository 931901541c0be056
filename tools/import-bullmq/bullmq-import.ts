import type { BullmqJob, BullmqQueue, PageEnd } from './bullmq-queue.js';
import { type ImportCounts, type Left, Tally } from './import-counts.js';
import { type ImportGoal, type MessagePlace, freshName } from './import-goal.js';
import { type Planned, planOf, reasonOf } from './job-plan.js';
import { JobTransfer, isGone, isOf } from './job-transfer.js';
import { hasStored } from './taken-note.js';

export interface BullmqImportOptions {
  readonly queue: BullmqQueue;
  readonly goal: ImportGoal;
  /** Topic that jobs go to, with `{name}` for the name of a job. */
  readonly topic: string;
  /** Place of the topic's queues, such as `under the prefix 'dq' at localhost:6379`: an import has to end where it began. */
  readonly place: string;
}

export interface ImportCall {
  readonly signal: AbortSignal;
  /** Called with the number of jobs looked at, or moved. */
  readonly onProgress: (jobs: number) => void;
}

/** Jobs were taken for another destination, and have to get there first. */
export class OtherDestinationError extends Error {
  constructor(readonly destination: string) {
    super(`Jobs were taken to go to ${destination}.`);
  }
}

/** Expected outcome for a job: it stays, its message is on its way, or it would get one. */
type Foreseen = Left | { readonly message: MessagePlace } | Planned;

/** Part of a queue that one pass has gone through. */
interface Pass {
  readonly looked: Set<string>;
  after: PageEnd | undefined;
}

/**
 * Moves delayed jobs of BullMQ, each to be handled once: by a worker of BullMQ if it gets the job first, else by a handler of
 * the topic. It can be killed at any time and started again, and workers and other imports can run in the meantime. See
 * docs/decisions/0116 and 0124.
 */
export class BullmqImport {
  readonly #options: BullmqImportOptions;
  readonly #destination: string;

  constructor(options: BullmqImportOptions) {
    this.#options = options;
    this.#destination = `topic '${options.topic}' ${options.place}`;
  }

  /**
   * Counts what {@link move} would do, and changes nothing.
   *
   * @param compares whether to also look for messages that have the names already: that takes one call per job
   * @throws OtherDestinationError, BrokerUnavailableError, ConfigurationError as {@link move}
   */
  async count({ signal, onProgress }: ImportCall, compares: boolean): Promise<ImportCounts> {
    const tally = new Tally();
    const names = new Set<string>();
    const ids = new Set<string>();
    const pass: Pass = { looked: new Set(), after: undefined };
    let counted = 0;
    for (let jobs = await this.#next(pass); jobs.length > 0 && !signal.aborted; jobs = await this.#next(pass)) {
      // Another import may meanwhile take jobs that were counted as delayed.
      const isNew = jobs.filter(({ id }) => !ids.has(id));
      for (const { id } of isNew) ids.add(id);
      for (const step of await Promise.all(isNew.map(async (job) => this.#foreseen(job, compares)))) {
        if (!step) continue;
        tally.add(compares ? unlessNamed(names, step) : step);
        counted += 1;
      }
      onProgress(counted);
    }
    return tally;
  }

  /**
   * Moves all jobs that can be moved.
   *
   * @param topics topics that are allowed
   * @throws OtherDestinationError if another import has to finish first
   * @throws BrokerUnavailableError, ConfigurationError: the next import moves the jobs that were taken
   */
  async move(topics: ReadonlySet<string>, { signal, onProgress }: ImportCall): Promise<ImportCounts> {
    const { queue, goal, topic } = this.#options;
    const transfer = new JobTransfer({ queue, goal, topic, topics });
    // Meanwhile workers take jobs from the front, and new ones come: so it ends with a pass that has changed nothing.
    for (let changes = -1; changes < transfer.changes && !signal.aborted;) {
      changes = transfer.changes;
      transfer.tally.forgetLeft();
      const pass: Pass = { looked: new Set(), after: undefined };
      while (!signal.aborted) {
        const jobs = await this.#next(pass, true);
        if (jobs.length === 0) break;
        await transfer.move(jobs);
        onProgress(transfer.tally.moved);
      }
    }
    return transfer.tally;
  }

  /** Returns the next jobs: first those that were taken already, even in the course of this pass. */
  async #next(pass: Pass, takes = false): Promise<readonly BullmqJob[]> {
    const { queue } = this.#options;
    let jobs: readonly BullmqJob[] = [];
    for (let open: readonly string[] = []; jobs.length === 0 && (open = await this.#taken(pass)).length > 0;) {
      jobs = await queue.read(open);
    }
    if (jobs.length === 0) {
      const page = takes
        ? await queue.take(pass.after, this.#destination, freshName())
        : { jobs: await queue.look(pass.after) };
      if ('otherDestination' in page) throw new OtherDestinationError(page.otherDestination);
      ({ jobs } = page);
      pass.after = jobs.at(-1);
    }
    for (const { id, note } of jobs) pass.looked.add(nameOf(id, note?.text));
    return jobs;
  }

  /** Returns the ids of taken jobs that were not looked at since their notes changed. */
  async #taken({ looked }: Pass): Promise<string[]> {
    const { destination = this.#destination, notes } = await this.#options.queue.taken();
    if (destination !== this.#destination) throw new OtherDestinationError(destination);
    return [...notes].flatMap(([id, text]) => (looked.has(nameOf(id, text)) ? [] : [id]));
  }

  /** Returns the expected outcome for a job; `undefined` if it is gone. */
  async #foreseen(job: BullmqJob, compares: boolean): Promise<Foreseen | undefined> {
    const { goal, topic } = this.#options;
    const { note } = job;
    if (note?.state === 'unknown') return { job, reason: 'unverified' };
    if (isGone(job)) return undefined;
    if (hasStored(note)) {
      const [life] = await goal.livesOf([note.stored], false);
      if (isOf(await goal.look(note.stored), note) || life === note.stored.life) return { message: note.stored };
      if (note.state === 'sent') return { job, reason: 'unverified' };
    }
    const plan = planOf(job, topic, goal);
    if (plan.message === undefined || !compares) return plan;
    const found = await goal.look(plan.message);
    const isOwn = note !== undefined && found?.taking === note.taking;
    return found && !isOwn ? { job, reason: reasonOf(found) } : plan;
  }
}

function nameOf(id: string, text: string | undefined): string {
  return `${text} ${id}`;
}

/** Lets the second of two jobs stay that would become messages with the same name. */
function unlessNamed(names: Set<string>, step: Foreseen): Foreseen {
  if (step.message === undefined || !('job' in step)) return step;
  const name = `${step.message.topic} ${step.message.id}`;
  if (names.has(name)) return { job: step.job, reason: 'id-taken' };
  names.add(name);
  return step;
}
