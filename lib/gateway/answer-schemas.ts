import { EXPLAIN_CAUSES } from '../admin/explain-causes.js';
import { FAILURE_REASONS } from '../messages/failure.js';
import { PROBLEMS } from './problem.js';
import { type Schema, ref } from './schema.js';

const text: Schema = { type: 'string' };
const number: Schema = { type: 'number' };
const count: Schema = { type: 'integer', minimum: 0 };
const flag: Schema = { type: 'boolean' };
const time: Schema = { type: 'string', format: 'date-time' };
const texts: Schema = { type: 'array', items: text };
const headers: Schema = { type: 'object', additionalProperties: text };
const any: Schema = { description: 'Any JSON.' };

function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

/** All of it is there, but for what is optional. */
function object(required: Readonly<Record<string, Schema>>, optional: Readonly<Record<string, Schema>> = {}): Schema {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) };
}

const PROBLEM: Schema = {
  ...object(
    {
      type: { ...text, description: 'The code as a URN.' },
      title: text,
      status: { type: 'integer' },
      detail: { ...text, description: 'What was given, what is allowed, and what to do.' },
      code: { type: 'string', enum: Object.keys(PROBLEMS) },
    },
    { issues: { ...listOf(ref('PayloadIssue')), description: 'What the schema of the topic found wrong.' } },
  ),
  description: 'Why a request was refused, as RFC 9457 has it.',
};

const COUNTS: Readonly<Record<string, Schema>> = {
  scheduled: count,
  due: count,
  blocked: count,
  inFlight: count,
  dead: count,
  finished: count,
  paused: flag,
  counters: ref('TopicCounters'),
};
const COUNTS_IF_KNOWN: Readonly<Record<string, Schema>> = { nextDueAt: time, oldestDueAt: time, heldUntil: time };

const state: Schema = { type: 'string', enum: ['scheduled', 'in-flight', 'dead', 'finished'] };
const outcome: Schema = { type: 'string', enum: ['acked', 'cancelled', 'delivered'] };

/** What answers have, by name. */
export const ANSWER_SCHEMAS: Readonly<Record<string, Schema>> = {
  Problem: PROBLEM,
  PayloadIssue: object({ message: text }, { path: text }),
  PublishedMessage: object({ id: text, topic: text, partition: count, dueAt: time, duplicate: flag }),
  PublishResults: object({
    messages: { type: 'array', items: { oneOf: [ref('PublishedMessage'), object({ error: ref('Problem') })] } },
  }),
  PublishedMessages: object({ messages: listOf(ref('PublishedMessage')) }),
  Message: object(
    {
      id: text,
      key: text,
      topic: text,
      partition: count,
      state,
      at: {
        ...time,
        description:
          'Scheduled: when it is due. In flight: when its lease ends. Dead: when it died. Finished: when it ended.',
      },
      headers,
      tags: texts,
      deliveries: count,
      attempts: count,
      history: listOf(ref('FailedAttempt')),
    },
    {
      payload: any,
      outcome,
      publishedAt: time,
      dueAt: { ...time, description: 'When it is due; of one that is finished, when it was.' },
      duration: number,
      process: text,
      failure: ref('Failure'),
      blockedBy: text,
    },
  ),
  Failure: object(
    { reason: { type: 'string', enum: FAILURE_REASONS }, name: text, message: text },
    { code: text, stack: text, lastError: ref('Failure'), issues: listOf(ref('PayloadIssue')) },
  ),
  FailedAttempt: object({ at: time, attempt: count, name: text, message: text, duration: number }),
  CancelResult: object({ result: { type: 'string', enum: ['cancelled', 'in-flight', 'not-found'] } }),
  TagCancelResult: object({ cancelled: count, inFlight: count }),
  RescheduleResult: object({ rescheduled: flag }),
  ReceivedMessage: object({
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
    leaseEndsAt: {
      type: ['string', 'null'],
      format: 'date-time',
      description: 'null if it is delivered at most once.',
    },
    receipt: text,
  }),
  ReceivedMessages: object({ messages: listOf(ref('ReceivedMessage')) }),
  SettleResult: object({
    receipt: text,
    status: { type: 'string', enum: ['settled', 'stale', 'cancelled', 'replaced'] },
  }),
  SettleResults: object({ results: listOf(ref('SettleResult')) }),
  ExtendResult: object({ receipt: text, status: { type: 'string', enum: ['extended', 'lost', 'cancelled'] } }),
  ExtendResults: object({ results: listOf(ref('ExtendResult')) }),
  Topics: object({ topics: texts }),
  TopicCounters: object({
    published: count,
    delivered: count,
    acked: count,
    retried: count,
    dead: count,
    cancelled: count,
    expired: count,
    stale: count,
    repaired: count,
  }),
  TopicStats: object({ topic: text, ...COUNTS, partitions: listOf(ref('PartitionStats')) }, COUNTS_IF_KNOWN),
  PartitionStats: object({ partition: count, ...COUNTS }, { owner: text, ...COUNTS_IF_KNOWN }),
  Explanation: object({
    cause: { type: 'string', enum: EXPLAIN_CAUSES },
    also: listOf({ type: 'string', enum: EXPLAIN_CAUSES }),
    advice: text,
    facts: ref('ExplainFacts'),
  }),
  ExplainFacts: object(
    { topic: text, id: text, handlers: texts },
    {
      key: text,
      partition: count,
      at: time,
      state,
      dueAt: time,
      leaseEndsAt: time,
      diedAt: time,
      finishedAt: time,
      outcome,
      publishedAt: time,
      deliveries: count,
      attempts: count,
      crashes: count,
      failure: ref('Failure'),
      mark: { type: 'string', enum: ['cancelled', 'replaced'] },
      runner: text,
      before: count,
      blockedBy: text,
      paused: flag,
      heldUntil: time,
      limit: { type: 'string', enum: ['rate', 'inFlight'] },
      owner: text,
      ownerAlive: flag,
      ownerConcurrency: count,
      ownerBusy: count,
    },
  ),
  Schedule: object(
    {
      id: text,
      topic: text,
      partition: count,
      key: text,
      headers,
      catchUp: { type: 'string', enum: ['none', 'latest', 'all'] },
      overlap: { type: 'string', enum: ['allow', 'skip'] },
      paused: flag,
      declared: flag,
      missed: count,
    },
    {
      payload: any,
      every: { ...number, description: 'Milliseconds.' },
      cron: text,
      timeZone: text,
      startAt: time,
      endAt: time,
      next: time,
      last: time,
    },
  ),
  Schedules: object({ schedules: listOf(ref('Schedule')) }),
  Removed: object({ removed: flag }),
  Health: object({ status: { type: 'string', enum: ['up', 'down'] } }),
};
