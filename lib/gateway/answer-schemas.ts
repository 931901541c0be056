import * as z from 'zod';
import type { ExplainFacts, Explanation } from '../admin/explain.js';
import { EXPLAIN_CAUSES } from '../admin/explain-causes.js';
import type { FleetReceiver } from '../admin/fleet.js';
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
  .object({
    id: text.describe('What it was published with, or the one that was made for it.'),
    topic: text.describe('Where it was published.'),
    partition: count.describe('Where it is in the topic.'),
    dueAt: time.describe('When it is due.'),
    duplicate: flag.describe('Whether the id existed: the message was left as it was, or replaced.'),
  } satisfies Shape<PublishedMessage>)
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
    reason: z.enum(FAILURE_REASONS).describe('Why it is dead, or why the attempt failed.'),
    name: text.describe('Name of the error.'),
    message: text.describe('Of the error, at most 4,096 characters.'),
    code: text.optional().describe('Of the error, if it has one.'),
    stack: text.optional().describe('Of the error, at most 4,096 characters.'),
    cause: FailureCause.optional().describe('What the error gives as its cause.'),
    errors: z.array(FailureCause).optional().describe('What an AggregateError consists of; the first 5.'),
    lastError: z
      .lazy((): z.ZodType => FailureAnswer)
      .optional()
      .describe('Why the attempt before failed, if the last one ended without an error of its own.'),
    issues: z
      .array(PayloadIssueAnswer)
      .optional()
      .describe('What the schema found wrong, if the reason is `invalid`; the first 10.'),
  } satisfies Shape<Failure>)
  .meta({ id: 'Failure' });

const FailedAttemptAnswer = z
  .object({
    at: time.describe('When it failed.'),
    attempt: count.describe('Which attempt it was, 1 for the first.'),
    name: text.describe('Name of the error.'),
    message: text.describe('Of the error, with that of its cause; at most 200 characters.'),
    duration: z.number().describe('How long the handler ran, in milliseconds.'),
  } satisfies Shape<FailedAttempt>)
  .meta({ id: 'FailedAttempt' });

export const Message = z
  .object({
    id: text.describe('Names the message.'),
    key: text.describe('Its key; the id, if it was published without one.'),
    topic: text.describe('Where it was published.'),
    partition: count.describe('Where it is in the topic.'),
    state: state.describe('`finished`: it has ended, and the topic keeps what became of it.'),
    outcome: outcome.optional().describe('Finished: what became of it.'),
    at: time.describe(
      'Scheduled: when it is due. In flight: when its lease ends. Dead: when it died. Finished: when it ended.',
    ),
    publishedAt: time.optional().describe('Left out if what is stored cannot be decoded.'),
    dueAt: time.optional().describe('Finished: when it was due last.'),
    duration: z.number().optional().describe('Finished: how long it was in hand the last time, in milliseconds.'),
    process: text.optional().describe('Finished: the process that has handled it.'),
    payload: any.optional(),
    headers: headers.describe('As they were published.'),
    tags: z.array(text).describe('What it can be found by.'),
    deliveries: count.describe('Deliveries so far.'),
    attempts: count.describe('Attempts spent so far.'),
    maxAttempts: count.optional().describe('The attempts that it may have, if it was published with that.'),
    backoff: z.record(z.string(), z.unknown()).optional().describe('As it was published, times in milliseconds.'),
    timeout: z.number().optional().describe('Milliseconds.'),
    expireAfter: z.number().optional().describe('Milliseconds.'),
    failure: FailureAnswer.optional().describe('Why it is dead, or why its latest attempt failed.'),
    history: z.array(FailedAttemptAnswer).describe('The latest attempts that failed, the last one first; at most 10.'),
    blockedBy: text.optional().describe('In an ordered topic: the id of the message of its key that comes first.'),
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
    id: text.describe('Names the message.'),
    topic: text.describe('Where it comes from.'),
    partition: count.describe('Where it is in the topic.'),
    key: text.describe('Its key; the id, if it was published without one.'),
    payload: any,
    headers: headers.describe('As they were published.'),
    attempt: count.describe('Which attempt this is, 1 for the first.'),
    maxAttempts: count.describe('How many it has in all.'),
    publishedAt: time.describe('When it was published.'),
    dueAt: time.describe('When it was due.'),
    lease: z
      .number()
      .describe('For how long it is yours from now on, in milliseconds; 0: it is gone, and need not be settled.'),
    receipt: text.describe('What it is settled and extended by, at any process of the gateway.'),
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
    published: count.describe('Messages that were published; one that was replaced counts again.'),
    delivered: count.describe('Deliveries; each attempt counts.'),
    acked: count.describe('Messages that were handled.'),
    retried: count.describe('Attempts that failed and are repeated.'),
    dead: count.describe('Messages that became dead letters.'),
    cancelled: count.describe('Messages that were cancelled or drained.'),
    expired: count.describe('Of the dead ones, those that were not delivered within `expireAfter`.'),
    stale: count.describe('Outcomes that came after the lease had ended, and changed nothing.'),
    repaired: count.describe('Damaged entries that were found and removed.'),
  } satisfies Shape<TopicCounters>)
  .meta({ id: 'TopicCounters', description: 'What has happened since the topic was first used.' });

const COUNTS = {
  scheduled: count.describe('Messages that wait; those that are due, or blocked, are among them.'),
  due: count.describe('Messages whose time has come and that nobody has claimed yet.'),
  blocked: count.describe('Messages that wait behind others of their key, or for its limits.'),
  blockedDue: count.describe('Of those that are blocked, the ones whose time has come.'),
  inFlight: count.describe('Messages that are being handled.'),
  dead: count.describe('Dead letters.'),
  finished: count.describe('Messages that have ended and are kept.'),
  retrying: count.describe('Messages that have failed and are tried again.'),
  nextDueAt: time.optional().describe('The earliest due time; left out if nothing waits.'),
  oldestDueAt: time.optional().describe('The earliest due time of what is due: its age tells how late handling is.'),
  oldestBlockedDueAt: time.optional().describe('The earliest due time of what is due and blocked.'),
  paused: flag.describe(
    'Whether nothing is handed out until it is resumed; of a topic, whether any partition is paused.',
  ),
  heldUntil: time.optional().describe('Nothing is handed out before.'),
  counters: Counters,
} satisfies Shape<TopicCounts>;

const Partition = z
  .object({
    ...COUNTS,
    partition: count.describe('Its number, from 0.'),
    owner: text.optional().describe('The process that owns it; left out if none does.'),
  } satisfies Shape<PartitionStatus>)
  .meta({ id: 'PartitionStats' });

export const TopicStatsAnswer = z
  .object({
    ...COUNTS,
    topic: text.describe('What is counted.'),
    partitions: z.array(Partition).describe('Those that have answered, ascending.'),
    unreachable: z.array(count).describe('Partitions that did not answer, which no count includes.'),
  } satisfies Shape<TopicStats>)
  .meta({ id: 'TopicStats' });

const cause = z.enum(EXPLAIN_CAUSES);

const Receiver = z
  .object({
    topic: text.describe('What is received.'),
    consumer: text.describe('Names who receives.'),
    state: z
      .enum(['busy', 'idle', 'gone'])
      .describe('Whether they have or want messages, have asked lately, or have not come back.'),
    waiting: count.describe('Calls that wait for messages now.'),
    holding: count.describe('Messages that were received and not settled yet.'),
    seenAt: time.describe('When they asked for messages last; now, if they wait for some.'),
    processes: z.array(text).describe('The processes that they receive from.'),
  } satisfies Shape<FleetReceiver>)
  .meta({ id: 'Receiver', description: 'Somebody who receives the topic.' });

const Facts = z
  .object({
    topic: text.describe('Where it was looked for.'),
    id: text.describe('Names the message.'),
    key: text.optional().describe('Its key; the id, if it was published without one.'),
    partition: count.optional().describe('Where it is in the topic.'),
    at: time.optional().describe('When the facts were read.'),
    state: state.optional().describe('Where it is now.'),
    dueAt: time.optional().describe('When it is due, if it is scheduled; when it was, if it is in flight.'),
    expiresAt: time
      .optional()
      .describe('When it expires, if it was published with `expireAfter` and not delivered yet.'),
    leaseEndsAt: time.optional().describe('When its lease ends, if it is in flight.'),
    diedAt: time.optional().describe('When it died, if it is a dead letter.'),
    finishedAt: time.optional().describe('When it ended, if it is finished and kept.'),
    outcome: outcome.optional().describe('What became of it, if it is finished and kept.'),
    publishedAt: time.optional().describe('When it was published.'),
    deliveries: count.optional().describe('Deliveries so far.'),
    attempts: count.optional().describe('Attempts spent so far.'),
    crashes: count.optional().describe('Deliveries in a row that ended with their lease, without the current one.'),
    failure: FailureAnswer.optional().describe('Why it is dead, or why its last attempt failed.'),
    mark: z
      .enum(['cancelled', 'replaced'])
      .optional()
      .describe('What happened to it while it was in flight, and takes effect when its delivery ends.'),
    runner: text.optional().describe('The process that handles it, or has.'),
    before: count.optional().describe('How many messages of its partition are handed out before it.'),
    blockedBy: text.optional().describe('In an ordered topic: the id of the message of its key that comes first.'),
    paused: flag.optional().describe('Whether its partition is paused.'),
    heldUntil: time.optional().describe('Until when nothing of the topic begins.'),
    limit: z
      .enum(['rate', 'inFlight'])
      .optional()
      .describe('Which limit it waits for: how many begin, or how many are in flight.'),
    handlers: z.array(text).describe('The processes that live and handle the topic.'),
    receivers: z.array(Receiver).describe('Those who receive the topic.'),
    owner: text.optional().describe('The process that owns its partition.'),
    ownerAlive: flag.optional().describe('Whether that one lives, by its heartbeats.'),
    ownerConcurrency: count.optional().describe('Most handler calls of the owner at once.'),
    ownerBusy: count.optional().describe('How many of them ran when it said so last.'),
  } satisfies Shape<ExplainFacts>)
  .meta({ id: 'ExplainFacts', description: 'What an explanation is based on; what is unknown is left out.' });

export const ExplanationAnswer = z
  .object({
    cause: cause.describe('The first cause that holds.'),
    also: z.array(cause).describe('The other causes that hold.'),
    advice: text.describe('What the cause means and what to do, in English.'),
    facts: Facts,
  } satisfies Shape<Explanation>)
  .meta({ id: 'Explanation' });

export const ScheduleAnswer = z
  .object({
    id: text.describe('Names the schedule.'),
    topic: text.describe('Where its messages go.'),
    partition: count.describe('Where it is in the topic.'),
    key: text.describe('Of its messages; the id, if it was stored without one.'),
    payload: any.optional().describe('What its messages carry.'),
    headers: headers.describe('Of its messages.'),
    every: z.number().optional().describe('Milliseconds.'),
    cron: text.optional().describe('The cron expression, if it has no interval.'),
    timeZone: text.optional().describe('Of the expression.'),
    startAt: time.optional().describe('Nothing occurs before.'),
    endAt: time.optional().describe('Nothing occurs after.'),
    catchUp: z.enum(['none', 'latest', 'all']).describe('Which occurrences of an outage are caught up.'),
    overlap: z.enum(['allow', 'skip']).describe('Whether one is published while an earlier one is not over.'),
    paused: flag.describe('Whether it publishes nothing until it is resumed.'),
    declared: flag.describe('Whether a handler declares it in code.'),
    next: time.optional().describe('When it occurs next; left out if it has ended or is paused.'),
    last: time.optional().describe('When it occurred last.'),
    missed: count.describe('How many occurrences were not published.'),
  } satisfies Shape<Schedule>)
  .meta({ id: 'Schedule' });

const FailedSchedules = z
  .object({ topic: text, ids: z.array(text), error: ProblemAnswer })
  .meta({ id: 'FailedSchedules', description: 'Schedules of a topic that cannot be told now.' });

export const Schedules = z
  .object({ schedules: z.array(ScheduleAnswer), failed: z.array(FailedSchedules) })
  .meta({ id: 'Schedules' });
export const Removed = z.object({ removed: flag }).meta({ id: 'Removed' });
export const Health = z.object({ status: z.enum(['up', 'down']) }).meta({ id: 'Health' });
