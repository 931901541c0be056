import { patternOf } from '../../lib/admin/fingerprint.js';
import type { JobObstacle } from './bullmq-queue.js';
import type { JobMessage } from './job-message.js';

/**
 * Reason why a job stays with BullMQ. `id-taken`, `id-dead`, `id-finished`: a message with its id waits or is in flight, is a dead letter,
 * or has ended and is kept. `unknown-topic`: its topic is not among those that were counted. `unverified`: its message may have been
 * handled, and its topic has lost the evidence; it stays where imports keep the jobs that they take.
 */
export type LeftReason =
  | JobObstacle
  | 'refused'
  | 'id-taken'
  | 'id-dead'
  | 'id-finished'
  | 'unknown-topic'
  | 'unverified';

/** Jobs that stay with BullMQ for the same reason. */
export interface LeftJobs {
  readonly reason: LeftReason;
  readonly count: number;
  /** Id of one of them. */
  readonly example: string;
  /** Refusal of that one. Those of the others differ only in numbers and quoted words. */
  readonly refusal?: string;
}

/** Outcomes for jobs, actual or expected. */
export interface ImportCounts {
  /** Number of jobs that go to each topic. */
  readonly topics: ReadonlyMap<string, number>;
  /** Number of jobs that go to any topic. */
  readonly moved: number;
  readonly left: readonly LeftJobs[];
}

/** A job that stays. */
export interface Left {
  readonly job: { readonly id: string };
  readonly reason: LeftReason;
  readonly message?: undefined;
  readonly refusal?: string;
}

export class Tally implements ImportCounts {
  readonly topics = new Map<string, number>();
  readonly #left = new Map<string, LeftJobs>();
  readonly #leftIds = new Set<string>();

  get moved(): number {
    return [...this.topics.values()].reduce((sum, count) => sum + count, 0);
  }

  get left(): readonly LeftJobs[] {
    return [...this.#left.values()];
  }

  add(step: Left | { readonly message: Pick<JobMessage, 'topic'> }): void {
    if (step.message) {
      const { topic } = step.message;
      this.topics.set(topic, (this.topics.get(topic) ?? 0) + 1);
      return;
    }
    const { reason, job, refusal } = step;
    // A job that was given back turns up again among the delayed ones.
    if (this.#leftIds.has(job.id)) return;
    this.#leftIds.add(job.id);
    const kind = refusal === undefined ? reason : `${reason} ${patternOf(refusal)}`;
    const { count, ...first } = this.#left.get(kind) ?? {
      reason,
      example: job.id,
      ...(refusal && { refusal }),
      count: 0,
    };
    this.#left.set(kind, { ...first, count: count + 1 });
  }

  forgetLeft(): void {
    this.#left.clear();
    this.#leftIds.clear();
  }
}
