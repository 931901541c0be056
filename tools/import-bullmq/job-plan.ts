import { InvalidArgumentError } from '../../lib/errors/options.errors.js';
import { PayloadTooLargeError, SerializationError } from '../../lib/errors/publishing.errors.js';
import type { BullmqJob } from './bullmq-queue.js';
import type { Left, LeftReason } from './import-counts.js';
import type { FoundMessage, ImportGoal } from './import-goal.js';
import { type JobMessage, toMessage } from './job-message.js';

/** A job, and the message that it becomes. */
export interface Planned {
  readonly job: BullmqJob;
  readonly message: JobMessage;
}

/** Returns the plan for a job, as far as the job itself determines it. */
export function planOf(job: BullmqJob, topic: string, goal: ImportGoal): Planned | Left {
  if (job.obstacle) return { job, reason: job.obstacle };
  try {
    const message = toMessage(job, topic, goal.now);
    goal.check(message);
    return { job, message };
  } catch (error) {
    return refusalOf(job, error);
  }
}

/** Returns the message that a job would become, whatever keeps it with BullMQ; `undefined` if it cannot become one. */
export function messageOf(job: BullmqJob, topic: string, now: number): JobMessage | undefined {
  try {
    return toMessage(job, topic, now);
  } catch (error) {
    refusalOf(job, error);
    return undefined;
  }
}

const TAKEN_BY = {
  scheduled: 'id-taken',
  'in-flight': 'id-taken',
  dead: 'id-dead',
  finished: 'id-finished',
} as const satisfies Readonly<Record<FoundMessage['state'], LeftReason>>;

/** Returns why a job stays whose message would have the name of another one. */
export function reasonOf({ state }: FoundMessage): LeftReason {
  return TAKEN_BY[state];
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
