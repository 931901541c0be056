import * as z from 'zod';
import type { ExplainFacts, Explanation } from '../admin/explain.js';
import { EXPLAIN_CAUSES } from '../admin/explain-causes.js';
import type { MessageDetails } from '../admin/message-details.js';
import type { PartitionStatus, TopicCounters, TopicCounts, TopicStats } from '../admin/topic-stats.js';
import type { PayloadIssue } from '../checks/payload-issues.js';
import type { ReceivedMessage } from '../consumer/pulling/received-message.js';
import type { FailedAttempt } from '../messages/failed-attempt.js';
import { FAILURE_REASONS, type Failure } from '../messages/failure.js';
import type { PublishedMessage } from '../messages/publish-options.interface.js';
import type { Schedule } from '../schedules/schedule.interface.js';
import { PROBLEM_CODES, type Problem, type ProblemCode } from './problem.js';

/** What is answered, by the names of its properties: one that is new fails to compile until it is documented. */
type Shape<T> = Readonly<Record<keyof T, z.ZodType>>;

const text = z.string();
const count = z.int().min(0);
const flag = z.boolean();
const time = z.string().meta({ format: 'date-time' });
const any = z.unknown().describe('Any JSON.');
const headers = z.record(z.string(), z.string());

const PayloadIssueAnswer = z
  .object({ message: text, path: text.optional() } satisfies Shape<PayloadIssue>)
  .meta({ id: 'PayloadIssue' });

export const ProblemAnswer = z
  .object({
    type: text.describe('The code as a URN.'),
    title: text,
    status: z.int(),
    detail: text.describe('What was given, what is allowed, and what to do.'),
    code: z.enum(PROBLEM_CODES),
    issues: z.array(PayloadIssueAnswer).optional().describe('What the schema of the topic found wrong.'),
  } satisfies Shape<Problem>)
  .meta({ id: 'Problem', description: 'Why a request was refused, as RFC 9457 has it.' });

/** @param codes that it has here */
export function problemOf(codes: readonly ProblemCode[]) {
  return z.intersection(ProblemAnswer, z.object({ code: z.enum(codes) }));
}

export const PublishedMessageAnswer = z
  .object({ id: text, topic: text, partition: count, dueAt: time, duplicate: flag } satisfies Shape<PublishedMessage>)
  .meta({ id: 'PublishedMessage' });

export const Published = z.union([
  PublishedMessageAnswer,
  z.object({ messages: z.array(PublishedMessageAnswer) }).meta({ id: 'PublishedMessages' }),
]);

export const PublishResults = z
  .object({ messages: z.array(z.union([PublishedMessageAnswer, z.object({ error: ProblemAnswer })])) })
  .meta({ id: 'PublishResults' });

const state = z.enum(['scheduled', 'in-flight', 'dead', 'finished']);
const outcome = z.enum(['acked', 'cancelled', 'delivered']);

const FailureCause = z
  .record(z.string(), z.unknown())
  .describe('An error behind it: name, message, and what is behind that one.');

const FailureAnswer: z.ZodType = z
  .object({
    reason: z.enum(FAILURE_REASONS),
    name: text,
    message: text,
    code: text.optional(),
    stack: text.optional(),
    cause: FailureCause.optional(),
    errors: z.array(FailureCause).optional(),
    lastError: z.lazy((): z.ZodType => FailureAnswer).optional(),
    issues: z.array(PayloadIssueAnswer).optional(),
  } satisfies Shape<Failure>)
  .meta({ id: 'Failure' });

const FailedAttemptAnswer = z
  .object({ at: time, attempt: count, name: text, message: text, duration: z.number() } satisfies Shape<FailedAttempt>)
  .meta({ id: 'FailedAttempt' });

export const Message = z
  .object({
    id: text,
    key: text,
    topic: text,
    partition: count,
    state,
    outcome: outcome.optional(),
    at: time.describe(
      'Scheduled: when it is due. In flight: when its lease ends. Dead: when it died. Finished: when it ended.',
    ),
    publishedAt: time.optional(),
    dueAt: time.optional().describe('Finished: when it was due last.'),
    duration: z.number().optional().describe('Finished: how long it was in hand the last time, in milliseconds.'),
    process: text.optional(),
    payload: any.optional(),
    headers,
    tags: z.array(text),
    deliveries: count,
    attempts: count,
    maxAttempts: count.optional(),
    backoff: z.record(z.string(), z.unknown()).optional().describe('As it was published, times in milliseconds.'),
    timeout: z.number().optional().describe('Milliseconds.'),
    expireAfter: z.number().optional().describe('Milliseconds.'),
    failure: FailureAnswer.optional(),
    history: z.array(FailedAttemptAnswer),
    blockedBy: text.optional(),
  } satisfies Shape<Omit<MessageDetails, 'raw'>>)
  .meta({ id: 'Message' });

export const CancelAnswer = z
  .object({ result: z.enum(['cancelled', 'in-flight', 'not-found']) })
  .meta({ id: 'CancelResult' });

export const CancelTaggedAnswer = z.object({ cancelled: count, inFlight: count }).meta({ id: 'CancelTaggedResult' });

export const RescheduleAnswer = z
  .object({ result: z.enum(['moved', 'in-flight', 'dead', 'not-found']) })
  .meta({ id: 'RescheduleResult' });

/** What a received message has beside what it can do. */
export type ReceivedFields = Omit<
  ReceivedMessage,
  | {
      [K in keyof ReceivedMessage]: ReceivedMessage[K] extends (...args: never[]) => unknown ? K : never;
    }[keyof ReceivedMessage]
  | 'signal'
>;

const ReceivedMessageAnswer = z
  .object({
    id: text,
    topic: text,
    partition: count,
    key: text,
    payload: any,
    headers,
    attempt: count,
    maxAttempts: count,
    publishedAt: time,
    dueAt: time,
    lease: z
      .number()
      .describe('For how long it is yours from now on, in milliseconds; 0: it is gone, and need not be settled.'),
    receipt: text,
  } satisfies Shape<ReceivedFields>)
  .meta({ id: 'ReceivedMessage' });

export const ReceivedMessages = z.object({ messages: z.array(ReceivedMessageAnswer) }).meta({ id: 'ReceivedMessages' });

function resultsOf(one: string, status: z.ZodType) {
  const result = z.object({ receipt: text, status }).meta({ id: one });
  return z.union([result, z.object({ results: z.array(result) }).meta({ id: `${one}s` })]);
}

export const SettleResult = resultsOf('SettleResult', z.enum(['settled', 'stale', 'cancelled', 'replaced']));
export const ExtendResult = resultsOf('ExtendResult', z.enum(['extended', 'cancelled', 'stale']));

export const Topics = z.object({ topics: z.array(text) }).meta({ id: 'Topics' });

const Counters = z
  .object({
    published: count,
    delivered: count,
    acked: count,
    retried: count,
    dead: count,
    cancelled: count,
    expired: count,
    stale: count,
    repaired: count,
  } satisfies Shape<TopicCounters>)
  .meta({ id: 'TopicCounters' });

const COUNTS = {
  scheduled: count,
  due: count,
  blocked: count,
  blockedDue: count,
  inFlight: count,
  dead: count,
  finished: count,
  nextDueAt: time.optional(),
  oldestDueAt: time.optional(),
  oldestBlockedDueAt: time.optional(),
  paused: flag,
  heldUntil: time.optional(),
  counters: Counters,
} satisfies Shape<TopicCounts>;

const Partition = z
  .object({ ...COUNTS, partition: count, owner: text.optional() } satisfies Shape<PartitionStatus>)
  .meta({ id: 'PartitionStats' });

export const TopicStatsAnswer = z
  .object({
    ...COUNTS,
    topic: text,
    partitions: z.array(Partition),
    unreachable: z.array(count).describe('Partitions that did not answer, which no count includes.'),
  } satisfies Shape<TopicStats>)
  .meta({ id: 'TopicStats' });

const cause = z.enum(EXPLAIN_CAUSES);

const Facts = z
  .object({
    topic: text,
    id: text,
    key: text.optional(),
    partition: count.optional(),
    at: time.optional(),
    state: state.optional(),
    dueAt: time.optional(),
    expiresAt: time.optional(),
    leaseEndsAt: time.optional(),
    diedAt: time.optional(),
    finishedAt: time.optional(),
    outcome: outcome.optional(),
    publishedAt: time.optional(),
    deliveries: count.optional(),
    attempts: count.optional(),
    crashes: count.optional(),
    failure: FailureAnswer.optional(),
    mark: z.enum(['cancelled', 'replaced']).optional(),
    runner: text.optional(),
    before: count.optional(),
    blockedBy: text.optional(),
    paused: flag.optional(),
    heldUntil: time.optional(),
    limit: z.enum(['rate', 'inFlight']).optional(),
    handlers: z.array(text),
    owner: text.optional(),
    ownerAlive: flag.optional(),
    ownerConcurrency: count.optional(),
    ownerBusy: count.optional(),
  } satisfies Shape<ExplainFacts>)
  .meta({ id: 'ExplainFacts' });

export const ExplanationAnswer = z
  .object({ cause, also: z.array(cause), advice: text, facts: Facts } satisfies Shape<Explanation>)
  .meta({ id: 'Explanation' });

export const ScheduleAnswer = z
  .object({
    id: text,
    topic: text,
    partition: count,
    key: text,
    payload: any.optional(),
    headers,
    every: z.number().optional().describe('Milliseconds.'),
    cron: text.optional(),
    timeZone: text.optional(),
    startAt: time.optional(),
    endAt: time.optional(),
    catchUp: z.enum(['none', 'latest', 'all']),
    overlap: z.enum(['allow', 'skip']),
    paused: flag,
    declared: flag,
    next: time.optional(),
    last: time.optional(),
    missed: count,
  } satisfies Shape<Schedule>)
  .meta({ id: 'Schedule' });

export const Schedules = z.object({ schedules: z.array(ScheduleAnswer) }).meta({ id: 'Schedules' });
export const Removed = z.object({ removed: flag }).meta({ id: 'Removed' });
export const Health = z.object({ status: z.enum(['up', 'down']) }).meta({ id: 'Health' });
