import { NoJsonError, parseExactJson } from '../../lib/checks/parse-exact-json.js';
import { isPlainObject } from '../../lib/checks/kinds.js';
import { MAX_ATTEMPTS, MAX_DELAY } from '../../lib/checks/limits.js';
import { isWithin } from '../../lib/checks/validate.js';
import { InvalidArgumentError } from '../../lib/errors/options.errors.js';
import type { StoredBackoff } from '../../lib/messages/backoff.js';
import type { PublishOptions } from '../../lib/messages/publish-options.interface.js';
import { checkedTopicName } from '../../lib/messages/topic.js';
import type { BullmqJob } from './bullmq-queue.js';

/** Header with the key of the job that a message comes from. */
const JOB_HEADER = 'bullmq-job';

/** Header with the name of that job. */
const NAME_HEADER = 'bullmq-name';

/** Placeholder for the name of a job in the name of a topic. */
const NAME_PLACE = '{name}';

/** Form of ids that BullMQ assigns itself; it refuses them from callers. */
const GIVEN_BY_BULLMQ = /^\d+$/;

/** Message that a job becomes. */
export interface JobMessage {
  readonly topic: string;
  readonly id: string;
  readonly payload: unknown;
  /** Options without its id and its due time. */
  readonly options: PublishOptions;
}

/**
 * Returns the message that a job becomes.
 *
 * @param topic its destination, with `{name}` for the job's name
 * @param now epoch milliseconds
 * @throws InvalidArgumentError if it cannot become one
 * @throws SerializationError if its data would come back as something else
 */
export function toMessage(job: BullmqJob, topic: string, now: number): JobMessage {
  const { key, name, dueAt } = job;
  if (dueAt > now + MAX_DELAY) throw new InvalidArgumentError('A message must be due within 10 years.');
  return {
    topic: checkedTopicName(topic.replaceAll(NAME_PLACE, () => name)),
    id: idOf(job),
    payload: dataOf(job),
    options: { headers: { [JOB_HEADER]: key, [NAME_HEADER]: name }, ...retriesOf(job) },
  };
}

/**
 * Returns the id by which the application knows a job. An id that BullMQ counts means nothing to it, and may exist in the topic
 * already; each server and each database counts from 1.
 */
function idOf({ id, key, timestamp, deduplicationId }: BullmqJob): string {
  return GIVEN_BY_BULLMQ.test(id) ? (deduplicationId ?? `${key}@${timestamp}`) : id;
}

/** Returns the data of a job. They can be a message only if a handler gets them as BullMQ has them. See docs/decisions/0124. */
function dataOf({ data }: BullmqJob): unknown {
  try {
    return parseExactJson(data, 'data');
  } catch (error) {
    if (!(error instanceof NoJsonError)) throw error;
    throw new InvalidArgumentError(`The data of the job are no JSON. ${error.message}`);
  }
}

/** Returns the attempts that are left, and the waits between them. The topic decides what is missing or custom. */
function retriesOf({ options, attemptsMade: made }: BullmqJob): Pick<PublishOptions, 'attempts' | 'backoff'> {
  const { attempts, backoff } = optionsIn(options);
  const waits = backoffOf(typeof backoff === 'number' ? { type: 'fixed', delay: backoff } : backoff, made);
  return {
    ...(isWithin(attempts, 1, Infinity) && { attempts: Math.min(MAX_ATTEMPTS, Math.max(1, attempts - made)) }),
    ...(waits && { backoff: waits }),
  };
}

/** Parses options as BullMQ does: none of them gets into the message unchanged. */
function optionsIn(json: string): Readonly<Record<string, unknown>> {
  try {
    const options: unknown = JSON.parse(json);
    return isPlainObject(options) ? options : {};
  } catch {
    throw new InvalidArgumentError('The options of the job are no JSON.');
  }
}

/** Largest fraction by which a message's wait is shortened: that of the greatest jitter, which doubles the shortest wait. */
const MOST_SHORTENED = 0.5;

/**
 * Converts a backoff. A jitter of BullMQ shortens waits, and one of a message adds to them, so it is added to the shortest wait. Of a
 * jitter beyond a half, only the longer waits are used, up to the same longest one: BullMQ could draw each of them.
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
