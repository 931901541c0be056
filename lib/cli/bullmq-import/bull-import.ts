import type { DelayQueueAdmin } from '../../admin/delay-queue.admin.js';
import { PayloadTooLargeError, SerializationError } from '../../errors/publishing.errors.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import { MAX_DELAY } from '../../checks/limits.js';
import type { Queues } from '../cli.js';
import { SystemClock } from '../../time/clock.js';
import { sleep } from '../../time/sleep.js';
import {
  BEGINNING,
  type BullList,
  type BullQueue,
  MOST_JOBS,
  type MetJob,
  type Place,
  type StoredJob,
  type TakenJob,
  type Verdict,
  behind,
  behindWaiting,
} from './bull-queue.js';
import type { Releaser } from './releaser.js';
import { type Dropped, type JobMessage, type Routes, toMessage, whyAnother } from './job-message.js';

/** How many steps are under way at the same time: while one waits for Redis, the next is read. */
const STEPS_AT_ONCE = 4;

/** Steps a second if a rate is given. */
const STEPS_PER_SECOND = 10;

/** Most refused jobs that are told one by one. */
const MOST_TOLD = 10;

export interface BullImportOptions {
  readonly queue: BullQueue;
  readonly producer: Pick<Queues['producer'], 'publish'>;
  readonly admin: Pick<DelayQueueAdmin, 'get'>;
  readonly releaser: Pick<Releaser, 'release'>;
  readonly routes: Routes;
  /** Names this run to the scripts. */
  readonly token: string;
  /** The due time of a message that is not released yet, the same in all runs of an import. */
  readonly parkedUntil: number;
  /** Most jobs a second. */
  readonly rate: number | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (jobs: number) => void;
}

/** What a look or a run has met. */
export interface Met {
  /** Jobs by whether they can be taken. Those that were refused count as taken, when they were. */
  readonly verdicts: Record<Verdict, number>;
  /** Jobs whose options cannot all be kept. */
  readonly dropped: Record<Dropped, number>;
  /** Jobs that were given back, and why; at most some of them. */
  readonly refused: { readonly id: string; readonly reason: string }[];
  /** Jobs that an earlier run had taken. */
  resumed: number;
}

/** A job of a chunk, with its message. */
interface Transfer {
  readonly job: StoredJob;
  readonly message: JobMessage;
}

/** One whose message is not due yet, although it may be time for it. */
interface Parked extends Transfer {
  readonly partition: number;
}

/** What became of publishing a chunk. */
interface Published {
  readonly parked: Parked[];
  readonly duplicates: Transfer[];
  readonly refused: { readonly id: string; readonly reason: string }[];
}

/**
 * Moves jobs into topics, some with each step, each of which can be made again: take them, publish them far ahead, note that, give
 * them their due times, forget them. See docs/decisions/0079.
 */
export class BullImport {
  readonly met: Met = {
    verdicts: { taken: 0, flow: 0, repeated: 0, large: 0, refused: 0, unknown: 0 },
    dropped: { backoff: 0, priority: 0 },
    refused: [],
    resumed: 0,
  };
  readonly #options: BullImportOptions;
  readonly #clock = new SystemClock();
  readonly #stepSize: number;
  /** Aborts with what a step fails with, so that no more jobs are taken. */
  readonly #failing = new AbortController();
  readonly #pausesEnd: AbortSignal;
  /** When the rate allows the next step. */
  #nextAt = 0;

  constructor(options: BullImportOptions) {
    this.#options = options;
    const { rate, signal } = options;
    this.#pausesEnd = AbortSignal.any([signal, this.#failing.signal]);
    const perStep = rate === undefined ? MOST_JOBS : Math.floor(rate / STEPS_PER_SECOND);
    this.#stepSize = Math.max(1, Math.min(MOST_JOBS, perStep));
  }

  /** Goes on with what a run has left that was killed. */
  async resume(): Promise<void> {
    for (const which of ['parked', 'taken'] as const) {
      for (;;) {
        if (this.#options.signal.aborted) return;
        const jobs = await this.#options.queue.open(which, MOST_JOBS);
        if (jobs.length === 0) break;
        this.met.resumed += jobs.length;
        await (which === 'parked' ? this.#releaseAgain(jobs) : this.#handOver(jobs));
        this.#options.onProgress(jobs.length);
      }
    }
  }

  /** Takes and moves all jobs of a list. */
  async move(list: BullList): Promise<void> {
    const underWay = new Set<Promise<void>>();
    try {
      for await (const jobs of this.#taken(list)) {
        const step = this.#handOver(jobs).then(() => this.#options.onProgress(jobs.length));
        underWay.add(step);
        step.then(
          () => underWay.delete(step),
          (error: unknown) => this.#failing.abort(error),
        );
        if (underWay.size >= STEPS_AT_ONCE) await Promise.race(underWay);
      }
      await Promise.all(underWay);
    } finally {
      // The others are over before anybody says how far it came.
      await Promise.allSettled(underWay);
    }
  }

  /** Takes jobs of a list, a step at a time, no faster than the rate allows. */
  async *#taken(list: BullList): AsyncGenerator<TakenJob[], void> {
    const { queue, token, rate = Infinity, signal } = this.#options;
    let place = BEGINNING;
    for (;;) {
      await this.#pause();
      this.#failing.signal.throwIfAborted();
      if (signal.aborted) return;
      const met = await queue.take(list, place, token, this.#stepSize);
      this.#count(met);
      const taken = met.filter(({ verdict }) => verdict === 'taken').map((job) => originOf(job, list));
      this.#nextAt = this.#clock.now() + (taken.length / rate) * 1000;
      if (taken.length > 0) yield taken;
      if (met.length < this.#stepSize) return;
      place = nextPlace(list, place, met, false);
    }
  }

  /** Counts what would be taken, and changes nothing. */
  async look(list: BullList): Promise<void> {
    let place = BEGINNING;
    for (;;) {
      if (this.#options.signal.aborted) return;
      const met = await this.#options.queue.look(list, place);
      this.#count(met);
      this.#options.onProgress(met.length);
      if (met.length < MOST_JOBS) return;
      place = nextPlace(list, place, met, true);
    }
  }

  async #handOver(jobs: readonly TakenJob[]): Promise<void> {
    const { queue, token } = this.#options;
    const stored = await queue.read(jobs);
    const { transfers, unreadable } = this.#toTransfers(stored);
    const { parked, duplicates, refused } = await this.#publish(transfers);
    await queue.park(token, idsOf(parked));
    await this.#release(parked);
    await queue.finish(token, 'published', idsOf(parked));
    await queue.finish(token, 'duplicates', idsOf(duplicates));
    await this.#giveBack([...unreadable, ...refused]);
    await this.#forgetLost(jobs, stored);
  }

  #toTransfers(jobs: readonly StoredJob[]): { transfers: Transfer[]; unreadable: Published['refused'] } {
    const transfers: Transfer[] = [];
    const unreadable: Published['refused'] = [];
    const now = Date.now();
    for (const job of jobs) {
      try {
        const message = toMessage(job, this.#options.routes);
        for (const what of message.dropped) this.met.dropped[what]++;
        if (message.dueAt > now + MAX_DELAY) {
          unreadable.push({ id: job.id, reason: 'it is due in more than 10 years, which is the longest delay' });
        } else {
          transfers.push({ job, message });
        }
      } catch (error) {
        unreadable.push({ id: job.id, reason: `its data or options are no JSON: ${(error as Error).message}` });
      }
    }
    return { transfers, unreadable };
  }

  /**
   * Publishes messages that are not due before they are released. One that is there already with that due time is this import's: a
   * message that is not due cannot have been handled, so whatever a killed run has published is still found here.
   */
  async #publish(transfers: readonly Transfer[]): Promise<Published> {
    const { producer, parkedUntil } = this.#options;
    const results = await Promise.allSettled(
      transfers.map(async ({ message: { topic, payload, options } }) =>
        producer.publish(topic, payload, { ...options, deliverAt: parkedUntil, onDuplicate: 'ignore' }),
      ),
    );
    const published: Published = { parked: [], duplicates: [], refused: [] };
    for (const [i, result] of results.entries()) {
      const transfer = transfers[i] as Transfer;
      if (result.status === 'rejected') {
        published.refused.push({ id: transfer.job.id, reason: reasonOf(result.reason) });
      } else if (!result.value.duplicate || result.value.dueAt.getTime() === parkedUntil) {
        published.parked.push({ ...transfer, partition: result.value.partition });
      } else {
        const reason = await this.#whyAnother(transfer);
        if (reason === undefined) published.duplicates.push(transfer);
        else published.refused.push({ id: transfer.job.id, reason });
      }
    }
    return published;
  }

  async #whyAnother({ job, message }: Transfer): Promise<string | undefined> {
    const found = await this.#options.admin.get(message.topic, message.id);
    return whyAnother(job, message, found?.headers);
  }

  async #release(parked: readonly Parked[]): Promise<void> {
    await this.#options.releaser.release(
      parked.map(({ message: { topic, id, dueAt }, partition }) => ({
        partition: { topic, index: partition },
        id,
        parkedUntil: this.#options.parkedUntil,
        dueAt,
      })),
    );
  }

  /** Messages that a killed run has released may have been handled since, and their ids may be those of others by now. */
  async #releaseAgain(jobs: readonly TakenJob[]): Promise<void> {
    const { queue, token, admin } = this.#options;
    const stored = await queue.read(jobs);
    const { transfers } = this.#toTransfers(stored);
    const found = await Promise.all(
      transfers.map(async (transfer): Promise<Parked[]> => {
        const message = await admin.get(transfer.message.topic, transfer.message.id);
        return message ? [{ ...transfer, partition: message.partition }] : [];
      }),
    );
    await this.#release(found.flat());
    await queue.finish(
      token,
      'published',
      stored.map(({ id }) => id),
    );
    await this.#forgetLost(jobs, stored);
  }

  async #giveBack(refused: Published['refused']): Promise<void> {
    const { queue, token } = this.#options;
    const ids = refused.map(({ id }) => id);
    await queue.giveBack(token, ids);
    this.met.refused.push(...refused.slice(0, MOST_TOLD - this.met.refused.length));
  }

  /** Somebody has deleted the jobs themselves. */
  async #forgetLost(jobs: readonly TakenJob[], stored: readonly StoredJob[]): Promise<void> {
    const { queue, token } = this.#options;
    const found = new Set(stored.map(({ id }) => id));
    const lost = jobs.filter(({ id }) => !found.has(id)).map(({ id }) => id);
    await queue.finish(token, 'lost', lost);
  }

  #count(met: readonly MetJob[]): void {
    for (const { verdict } of met) this.met.verdicts[verdict]++;
  }

  async #pause(): Promise<void> {
    const left = this.#nextAt - this.#clock.now();
    if (left > 0) await sleep(this.#clock, left, this.#pausesEnd);
  }
}

/** As `taken` holds it, whose scores tell where a job comes from. */
function originOf({ id, score }: TakenJob, list: BullList): TakenJob {
  return { id, score: list === 'prioritized' ? `-${score}` : score };
}

function nextPlace(list: BullList, place: Place, met: readonly MetJob[], isLook: boolean): Place {
  const isSorted = list === 'delayed' || list === 'prioritized';
  return isSorted ? behind(place, met, isLook) : behindWaiting(place, met, isLook);
}

function idsOf(transfers: readonly Transfer[]): string[] {
  return transfers.map(({ job }) => job.id);
}

/**
 * Why a message was refused before anything was sent.
 *
 * @throws what else a publish fails with: nobody knows whether the message is there, so its job stays taken until the next run
 */
function reasonOf(error: unknown): string {
  const isOfMessage = [InvalidArgumentError, PayloadTooLargeError, SerializationError].some(
    (kind) => error instanceof kind,
  );
  if (!isOfMessage) throw error;
  return (error as Error).message;
}
