import { MAX_ATTEMPTS, MAX_DELAY } from '../../checks/limits.js';
import { isPlainObject } from '../../checks/validate.js';
import type { StoredBackoff } from '../../messages/backoff.js';
import type { PublishOptions } from '../../messages/publish-options.interface.js';
import { type StoredJob, dueTimeOf } from './bull-queue.js';

/** Where the jobs of a queue go. */
export interface Routes {
  readonly queue: string;
  /** Topic of all jobs that have no other. */
  readonly topic: string;
  /** Topics by the names of jobs. */
  readonly byName: ReadonlyMap<string, string>;
}

/** What a job has that a message cannot have. */
export type Dropped = 'backoff' | 'priority';

/** A job as a message. */
export interface JobMessage {
  readonly topic: string;
  readonly id: string;
  readonly payload: unknown;
  readonly options: PublishOptions;
  readonly dueAt: number;
  readonly dropped: readonly Dropped[];
}

/** The headers that tell which queue a message was imported from, and when its job was added there. */
const QUEUE_HEADER = 'bullmq-queue';
const TIMESTAMP_HEADER = 'bullmq-timestamp';

export function topicOf({ fields }: StoredJob, { topic, byName }: Routes): string {
  return byName.get(fields.name ?? '') ?? topic;
}

/**
 * The id of a job's message. BullMQ numbers the jobs that were given no id from 1 in each queue, so such a number says nothing without the
 * queue.
 */
export function messageIdOf(job: StoredJob, { queue }: Routes): string {
  return isNumbered(job) ? `${queue}:${job.id}` : job.id;
}

/** Whether BullMQ has numbered the job, which was given no id. */
function isNumbered({ id }: StoredJob): boolean {
  return /^\d+$/.test(id);
}

/**
 * Why a job may be another one than that of the message which has its id, so that it must not be dropped as a duplicate.
 *
 * An id that the application chose says what the job is about, within its queue. A number says nothing: a queue of the same name under
 * another prefix has it as well, and a queue that was obliterated gives it out again.
 *
 * @param headers those of the message; `undefined` if it is gone by now
 */
export function whyAnother(
  job: StoredJob,
  { topic, id, options }: JobMessage,
  headers: Readonly<Record<string, string>> = {},
): string | undefined {
  const differs = (name: string): boolean => headers[name] !== options.headers?.[name];
  if (isNumbered(job)) {
    if (!differs(QUEUE_HEADER) && !differs(TIMESTAMP_HEADER)) return undefined;
    return `topic '${topic}' has a message '${id}' of another job with this number: move this queue into another topic`;
  }
  if (headers[QUEUE_HEADER] === undefined || !differs(QUEUE_HEADER)) return undefined;
  return `topic '${topic}' has a message with this id from another queue`;
}

/** @throws SyntaxError if the job's data or options are no JSON */
export function toMessage(job: StoredJob, routes: Routes): JobMessage {
  const { fields } = job;
  const opts = parsedOptions(fields.opts);
  const made = Number(fields.atm ?? fields.attemptsMade ?? 0) || 0;
  const given = opts['backoff'];
  const backoff = backoffOf(given, made);
  const dropped: Dropped[] = [];
  if (given !== undefined && given !== null && given !== 0 && !backoff) dropped.push('backoff');
  if (Number(fields.priority ?? 0) > 0) dropped.push('priority');
  return {
    topic: topicOf(job, routes),
    id: messageIdOf(job, routes),
    payload: JSON.parse(fields.data || '{}') as unknown,
    options: {
      id: messageIdOf(job, routes),
      headers: headersOf(job, routes.queue, made),
      ...attemptsOf(opts['attempts'], made),
      ...(backoff && { backoff }),
      ...(isLength(opts['timeout']) && opts['timeout'] > 0 && { timeout: opts['timeout'] }),
    },
    dueAt: dueTimeOf(job),
    dropped,
  };
}

function headersOf({ id, fields }: StoredJob, queue: string, made: number): Record<string, string> {
  return {
    [QUEUE_HEADER]: queue,
    'bullmq-name': fields.name ?? '',
    'bullmq-id': id,
    ...(fields.timestamp && { [TIMESTAMP_HEADER]: fields.timestamp }),
    ...(made > 0 && { 'bullmq-attempts-made': String(made) }),
  };
}

/** Attempts that are left. A job that says nothing of them gets the topic's. */
function attemptsOf(attempts: unknown, made: number): { attempts?: number } {
  if (typeof attempts !== 'number' || !(attempts >= 1)) return {};
  return { attempts: Math.max(1, Math.min(MAX_ATTEMPTS, Math.trunc(attempts) - made)) };
}

/** @returns `undefined` for one that is a function of the application */
function backoffOf(backoff: unknown, made: number): StoredBackoff | undefined {
  if (isLength(backoff)) return backoff > 0 ? { type: 'fixed', delay: backoff } : undefined;
  if (!isPlainObject(backoff)) return undefined;
  const { type, delay } = backoff;
  if (!isLength(delay)) return undefined;
  if (type === 'fixed') return { type, delay };
  if (type !== 'exponential') return undefined;
  // A message counts its attempts from 1, and BullMQ bounds no wait.
  return { type, delay: Math.min(MAX_DELAY, delay * 2 ** made), maxDelay: MAX_DELAY };
}

function isLength(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MAX_DELAY;
}

function parsedOptions(text: string | null): Record<string, unknown> {
  const opts: unknown = JSON.parse(text || '{}');
  return isPlainObject(opts) ? opts : {};
}
