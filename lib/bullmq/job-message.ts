import { isPlainObject } from '../checks/kinds.js';
import { MAX_ATTEMPTS, MAX_DELAY } from '../checks/limits.js';
import { isWithin } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { StoredBackoff } from '../messages/backoff.js';
import type { PublishOptions } from '../messages/publish-options.interface.js';
import { checkedTopicName } from '../messages/topic.js';
import type { BullmqJob } from './bullmq-queue.js';

/** The header with the key of the job that a message was. */
const JOB_HEADER = 'bullmq-job';

/** The header with the name of that job. */
const NAME_HEADER = 'bullmq-name';

/** What stands for the name of a job in the name of a topic. */
const NAME_PLACE = '{name}';

/** BullMQ gives such ids itself; it refuses them from callers. */
const GIVEN_BY_BULLMQ = /^\d+$/;

/** What becomes of a job. */
export interface JobMessage {
  readonly topic: string;
  readonly id: string;
  readonly payload: unknown;
  readonly options: PublishOptions;
}

/**
 * The message that a job becomes. Its due time is not among the options.
 *
 * @param topic where it goes, with `{name}` for the job's name
 * @param now epoch milliseconds
 * @throws InvalidArgumentError if it cannot become one
 */
export function toMessage(job: BullmqJob, topic: string, now: number): JobMessage {
  const { key, name, dueAt } = job;
  if (dueAt > now + MAX_DELAY) throw new InvalidArgumentError('A message must be due within 10 years.');
  const options = parsed('options', job.options);
  const id = idOf(job);
  return {
    topic: checkedTopicName(topic.replaceAll(NAME_PLACE, () => name)),
    id,
    payload: parsed('data', job.data),
    options: {
      id,
      headers: { [JOB_HEADER]: key, [NAME_HEADER]: name },
      ...(isPlainObject(options) && retriesOf(options, job.attemptsMade)),
    },
  };
}

/**
 * The id by which the application knows a job. One that BullMQ counts means nothing to it, and may be an id of the topic already;
 * each server and each database counts from 1.
 */
function idOf({ id, key, timestamp, deduplicationId }: BullmqJob): string {
  return GIVEN_BY_BULLMQ.test(id) ? (deduplicationId ?? `${key}@${timestamp}`) : id;
}

function parsed(what: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidArgumentError(`The ${what} of the job are no JSON.`);
  }
}

/** The attempts that are left, and the waits between them. What is not there, or is of the application's own, the topic decides. */
function retriesOf(
  { attempts, backoff }: Readonly<Record<string, unknown>>,
  made: number,
): Pick<PublishOptions, 'attempts' | 'backoff'> {
  const waits = backoffOf(typeof backoff === 'number' ? { type: 'fixed', delay: backoff } : backoff, made);
  return {
    ...(isWithin(attempts, 1, Infinity) && { attempts: Math.min(MAX_ATTEMPTS, Math.max(1, attempts - made)) }),
    ...(waits && { backoff: waits }),
  };
}

/** The most that a wait of a message is shortened: one with the greatest jitter, which doubles the shortest wait. */
const MOST_SHORTENED = 0.5;

/**
 * A jitter of BullMQ shortens waits, and one of a message adds to them: so it is added to the shortest wait. Of a jitter beyond a half
 * the longer waits are taken, up to the same longest one: each is one that BullMQ may draw.
 */
function backoffOf(backoff: unknown, made: number): StoredBackoff | undefined {
  if (!isPlainObject(backoff)) return undefined;
  const { type, delay, jitter = 0 } = backoff;
  if (!isWithin(delay, 0, MAX_DELAY) || !isWithin(jitter, 0, 1)) return undefined;
  const share = Math.min(jitter, MOST_SHORTENED);
  const spread = jitter === 0 ? {} : { jitter: share / (1 - share) };
  const shortest = Math.ceil(delay * (1 - share));
  if (type === 'exponential') {
    const next = Math.min(MAX_DELAY, shortest * 2 ** made);
    return { type, delay: next, factor: 2, maxDelay: MAX_DELAY, ...spread };
  }
  if (type !== 'fixed') return undefined;
  return jitter === 0 ? { type, delay } : { type: 'exponential', delay: shortest, factor: 1, ...spread };
}
