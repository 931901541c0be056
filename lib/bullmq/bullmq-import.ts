import type { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import { MAX_DELAY } from '../checks/limits.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { PayloadTooLargeError, SerializationError } from '../errors/publishing.errors.js';
import type { PublishedMessage } from '../messages/publish-options.interface.js';
import type { DelayQueueProducer } from '../producer/delay-queue.producer.js';
import type { BullmqJob, BullmqQueue, JobObstacle } from './bullmq-queue.js';
import { JOB_HEADER, type JobMessage, toMessage } from './job-message.js';

export interface BullmqImportOptions {
  readonly queue: BullmqQueue;
  readonly producer: Pick<DelayQueueProducer, 'publish' | 'reschedule' | 'cancel'>;
  readonly admin: Pick<DelayQueueAdmin, 'get'>;
  /** The topic that jobs go to, with `{name}` for the name of a job. */
  readonly topic: string;
  /** Says which queues the topic is of, such as `under the prefix 'dq' at localhost:6379`: an import has to end where it began. */
  readonly place: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Why a job stays with BullMQ. `unknown-topic`: its topic is none of those that were counted. */
export type LeftReason = JobObstacle | 'refused' | 'id-taken' | 'unknown-topic';

/** Jobs that stay with BullMQ for the same reason. */
export interface LeftJobs {
  readonly reason: LeftReason;
  readonly count: number;
  /** The id of one of them. */
  readonly example: string;
  /** What that one was refused with. */
  readonly refusal?: string;
}

/** What becomes of jobs, or would. */
export interface ImportCounts {
  /** How many go to each topic. */
  readonly topics: ReadonlyMap<string, number>;
  readonly left: readonly LeftJobs[];
}

/** How many jobs go to a topic. */
export function movedOf({ topics }: Pick<ImportCounts, 'topics'>): number {
  return [...topics.values()].reduce((sum, count) => sum + count, 0);
}

export interface ImportCall {
  readonly signal: AbortSignal;
  /** Told how many jobs were looked at, or moved. */
  readonly onProgress: (jobs: number) => void;
}

/** What was taken to go to another place has to get there first. */
export class OtherDestinationError extends Error {
  constructor(readonly destination: string) {
    super(`Jobs were taken to go to ${destination}.`);
  }
}

/**
 * Moves delayed jobs of BullMQ, each to be handled once: by a worker of BullMQ if it gets it first, else by a handler of the
 * topic. It may be killed at any time, and started again, and workers and other imports may run meanwhile. See
 * docs/decisions/0107.
 */
export class BullmqImport {
  readonly #options: BullmqImportOptions;

  constructor(options: BullmqImportOptions) {
    this.#options = options;
  }

  /** Counts what {@link move} would do, and changes nothing. */
  async count({ signal, onProgress }: ImportCall): Promise<ImportCounts> {
    const tally = new Tally();
    for (let looked = 0; !signal.aborted;) {
      const jobs = await this.#options.queue.look(looked);
      for (const job of jobs) tally.add(this.#planOf(job));
      const passed = jobs.filter(({ place }) => place === 'delayed').length;
      if (passed === 0) break;
      looked += passed;
      onProgress(looked);
    }
    return tally;
  }

  /**
   * Moves all jobs that can be moved.
   *
   * @param topics those that may be used
   * @throws OtherDestinationError if another import has to come to its end first
   * @throws BrokerUnavailableError, ConfigurationError: what was taken is moved by the next import
   */
  async move(topics: ReadonlySet<string>, { signal, onProgress }: ImportCall): Promise<ImportCounts> {
    const { queue, topic, place } = this.#options;
    const destination = `topic '${topic}' ${place}`;
    const tally = new Tally();
    // Workers take jobs from the front meanwhile, and new ones come: so it ends with a pass that has moved nothing.
    for (let before = -1; before < movedOf(tally) && !signal.aborted;) {
      before = movedOf(tally);
      tally.forgetLeft();
      for (let passed = 0; !signal.aborted;) {
        const taken = await queue.take(passed, destination);
        if ('otherDestination' in taken) throw new OtherDestinationError(taken.otherDestination);
        if (taken.jobs.length === 0) break;
        passed += await this.#moveAll(taken.jobs, topics, tally);
        onProgress(movedOf(tally));
      }
    }
    return tally;
  }

  /** Moves what was taken, and answers how many of the jobs are with BullMQ afterwards. */
  async #moveAll(jobs: readonly BullmqJob[], topics: ReadonlySet<string>, tally: Tally): Promise<number> {
    const { queue, producer } = this.#options;
    const steps = await Promise.all(jobs.map(async (job) => this.#store(job, topics)));
    const stored = steps.filter((step) => step.message !== undefined);
    const left = steps.filter((step) => step.message === undefined);

    const gone = new Set(await queue.noteStored(stored.map(({ job }) => job.id)));
    // Another import has moved these since, or somebody has removed them: a message that was made now would be one too many.
    const needless = stored.filter(({ job, isNew }) => isNew && gone.has(job.id));
    await Promise.all(needless.map(async ({ message: { topic, id } }) => producer.cancel(topic, id)));

    const moved = stored.filter(({ job }) => !gone.has(job.id));
    await Promise.all(
      moved.map(async ({ job: { dueAt: deliverAt }, message: { topic, id } }) =>
        producer.reschedule(topic, id, { deliverAt }),
      ),
    );
    await queue.finish(moved.map(({ job }) => job.id));
    await queue.giveBack(left.map(({ job }) => job.id));
    for (const step of [...moved, ...left]) tally.add(step);
    return left.length;
  }

  /**
   * Stores the message of a job, due so late that nobody handles it: whoever finds a job that is not noted as stored may then
   * rely on its message being there, or never having been.
   */
  async #store(job: BullmqJob, topics: ReadonlySet<string>): Promise<Move | Left> {
    const plan = this.#planOf(job);
    if ('reason' in plan) return plan;
    const { topic, id, payload, options } = plan.message;
    if (job.place === 'stored') return plan;
    if (!topics.has(topic)) return { job, reason: 'unknown-topic' };
    let published: PublishedMessage;
    try {
      published = await this.#options.producer.publish(topic, payload, {
        ...options,
        delay: MAX_DELAY,
        onDuplicate: 'ignore',
      });
    } catch (error) {
      return refusalOf(job, error);
    }
    if (!published.duplicate) return { ...plan, isNew: true };
    const existing = await this.#options.admin.get(topic, id);
    return existing?.headers[JOB_HEADER] === job.key ? plan : { job, reason: 'id-taken' };
  }

  #planOf(job: BullmqJob): Move | Left {
    if (job.obstacle) return { job, reason: job.obstacle };
    try {
      return { job, message: toMessage(job, this.#options.topic, this.#options.now()), isNew: false };
    } catch (error) {
      return refusalOf(job, error);
    }
  }
}

/** A job, and the message that it becomes. */
interface Move {
  readonly job: BullmqJob;
  readonly message: JobMessage;
  /** Whether this import has just stored it. */
  readonly isNew: boolean;
}

interface Left {
  readonly job: BullmqJob;
  readonly reason: LeftReason;
  readonly message?: undefined;
  readonly refusal?: string;
}

/** @throws the error, unless it is about this one job */
function refusalOf(job: BullmqJob, error: unknown): Left {
  const isOfJob =
    error instanceof InvalidArgumentError ||
    error instanceof PayloadTooLargeError ||
    error instanceof SerializationError;
  if (!isOfJob) throw error;
  return { job, reason: 'refused', refusal: error.message };
}

class Tally implements ImportCounts {
  readonly topics = new Map<string, number>();
  readonly #left = new Map<LeftReason, LeftJobs>();

  get left(): readonly LeftJobs[] {
    return [...this.#left.values()];
  }

  add(step: Move | Left): void {
    if (step.message) {
      const { topic } = step.message;
      this.topics.set(topic, (this.topics.get(topic) ?? 0) + 1);
      return;
    }
    const { reason, job, refusal } = step;
    const { count, ...first } = this.#left.get(reason) ?? {
      reason,
      example: job.id,
      ...(refusal && { refusal }),
      count: 0,
    };
    this.#left.set(reason, { ...first, count: count + 1 });
  }

  forgetLeft(): void {
    this.#left.clear();
  }
}
