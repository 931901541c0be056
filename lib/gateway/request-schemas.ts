import * as z from 'zod';
import { MAX_BATCH } from '../store/partition.js';
import { MAX_CONSUMER_LENGTH, MAX_TAGS } from '../checks/limits.js';
import type { PublishOptions } from '../messages/publish-options.interface.js';
import type { ReceiveOptions } from '../consumer/delay-queue.receiver.js';
import type { ScheduleRule, ScheduledMessageOptions } from '../schedules/schedule.interface.js';
import { isoToEpoch } from '../time/iso-time.js';
import { listOf, strictObject, textsByName } from './checked-value.js';
import { MAX_MANY, MAX_WAIT } from './limits.js';

/** What options take, by their names: one that is new fails to compile until it is served. */
type Shape<T> = Readonly<Record<keyof T, z.ZodType>>;

/**
 * What may be left out. Since JSON has no `undefined`, what is there is never that, as in zod's `exactOptional()`; but that one tries what is not
 * there as well, which takes half of the time of a check.
 */
function optional<S extends z.ZodType>(schema: S): z.ZodExactOptional<S> {
  return schema.optional() as unknown as z.ZodExactOptional<S>;
}

const Duration = z
  .union([z.number().min(0), z.string()], {
    error: "must be milliseconds, or a number with a unit such as '30s' or '1h30m'",
  })
  .meta({ id: 'Duration', description: "Milliseconds, or a number with a unit: '30s', '1h30m'." });

const isoTime = z
  .string()
  .refine((text) => isoToEpoch(text) !== undefined)
  .transform((text) => isoToEpoch(text) as number)
  .meta({ format: 'date-time' });

const TIME_FORMS = "ISO 8601 with its zone, such as '2026-12-24T18:00:00Z', or epoch milliseconds";

const Time = z
  .union([isoTime, z.number()], { error: `must be ${TIME_FORMS}` })
  .meta({ id: 'Time', description: 'ISO 8601 with its zone, or epoch milliseconds.' });

const LocalTime = strictObject({
  local: z.string().describe("Without an offset, such as '2026-12-24T18:00'."),
  timeZone: z.string().describe("A name of the IANA database, such as 'Europe/Berlin'."),
}).meta({ id: 'LocalTime', description: 'A time as the clocks of a time zone show it.' });

const DueTime = z
  .union([isoTime, z.number(), LocalTime], { error: `must be ${TIME_FORMS}, or { local, timeZone }` })
  .meta({
    id: 'DueTime',
    description: 'ISO 8601 with its zone, epoch milliseconds, or a local time. A time that has passed means at once.',
  });

const jitter = optional(z.number().min(0).max(1));

const Backoff = z
  .discriminatedUnion('type', [
    strictObject({ type: z.literal('fixed'), delay: Duration }),
    strictObject({
      type: z.literal('exponential'),
      delay: Duration,
      factor: optional(z.number().min(1).max(10)),
      maxDelay: optional(Duration),
      jitter,
    }),
    strictObject({ type: z.literal('steps'), delays: listOf(Duration, { min: 1, max: 100 }), jitter }),
  ])
  .meta({ id: 'Backoff', description: 'How long to wait before the next attempt.' });

const name = z.string().min(1).max(256);

/** What messages of schedules take too. */
const MESSAGE_OPTIONS = {
  key: optional(name).describe('Places the message in a partition; 1 to 256 characters.'),
  headers: optional(textsByName()).describe('Stored with the payload.'),
  tags: optional(listOf(z.string(), { max: MAX_TAGS })).describe(
    'Words by which messages can be listed and cancelled.',
  ),
  attempts: optional(z.int()).describe('How many deliveries may fail before it is a dead letter, 1 to 1000.'),
  backoff: optional(Backoff),
  timeout: optional(Duration),
  expireAfter: optional(Duration),
} satisfies Shape<ScheduledMessageOptions>;

const PUBLISH_OPTIONS = {
  id: optional(name).describe('Names the message; 1 to 256 characters. If it is left out, one is made.'),
  ...MESSAGE_OPTIONS,
  delay: optional(Duration),
  deliverAt: optional(DueTime),
  onDuplicate: optional(z.enum(['reject', 'ignore', 'replace', 'earliest'])).describe('What happens if the id exists.'),
  maxWait: optional(Duration),
  replicas: optional(strictObject({ min: z.int(), timeout: Duration })).describe(
    'How many replicas of Redis have to confirm the publish, and in which time.',
  ),
} satisfies Shape<PublishOptions>;

export const NewMessage = strictObject({
  payload: z.unknown().describe('Any JSON; with its headers at most 1 MiB.'),
  ...PUBLISH_OPTIONS,
}).meta({ id: 'NewMessage' });

export type NewMessage = z.output<typeof NewMessage>;

const HandlerError = strictObject({
  name: z.string(),
  message: z.string(),
  stack: optional(z.string()),
}).meta({ id: 'HandlerError', description: 'What a handler has thrown. Its texts are kept up to 4,096 characters.' });

const Settlement = strictObject({
  receipt: z.string().describe('What a received message has.'),
  outcome: z.enum(['ack', 'retry', 'dead', 'release']),
  delay: optional(Duration).describe(
    'Until it comes again. Left out, a retry comes by its backoff, and what is released at once.',
  ),
  reason: optional(z.string()).describe('Of a retry or a dead letter: why. It is kept with the message.'),
  error: optional(HandlerError).describe(
    'In place of a reason: what was thrown. It is kept as that of a handler in Node.js.',
  ),
}).meta({ id: 'Settlement' });

export type Settlement = z.output<typeof Settlement>;

const Extension = strictObject({
  receipt: z.string().describe('What a received message has.'),
  lease: Duration,
}).meta({ id: 'Extension' });

export type Extension = z.output<typeof Extension>;

const MANY = { min: 1, max: MAX_MANY } as const;

export const PublishBody = z.union([
  NewMessage,
  strictObject({ messages: listOf(NewMessage, MANY) }).meta({ id: 'NewMessages' }),
]);

export const SettleBody = z.union([
  Settlement,
  strictObject({ settlements: listOf(Settlement, MANY) }).meta({ id: 'Settlements' }),
]);

export const ExtendBody = z.union([
  Extension,
  strictObject({ extensions: listOf(Extension, MANY) }).meta({ id: 'Extensions' }),
]);

const RECEIVE_OPTIONS = {
  max: optional(z.int()).describe(`Most messages, 1 to ${MAX_BATCH}; 1 if it is left out.`),
  wait: optional(Duration).describe(
    `Longest time until the answer if nothing is due, at most ${MAX_WAIT / 1000} s; 0 if it is left out.`,
  ),
  lease: optional(Duration).describe(
    'For how long the messages are yours, at least 1 s; that of the gateway if it is left out. With 0 they are delivered at most once: gone ' +
      'when they are received.',
  ),
  consumer: optional(z.string().min(1).max(MAX_CONSUMER_LENGTH)).describe(
    'Names whoever receives, for those who look at the fleet. Left out, it is the name of the token, or of whoever `actor` tells, or else the ' +
      'address that the request comes from.',
  ),
} satisfies Shape<Omit<ReceiveOptions, 'signal'>>;

export const ReceiveBody = strictObject(RECEIVE_OPTIONS).meta({ id: 'Receive' });

export type ReceiveBody = z.output<typeof ReceiveBody>;

export const ReceiveFromBody = strictObject({
  topics: listOf(z.string(), { min: 1, max: 100 }).describe('What is due in an earlier one comes first.'),
  ...RECEIVE_OPTIONS,
}).meta({ id: 'ReceiveFrom' });

export const RescheduleBody = z.union([strictObject({ delay: Duration }), strictObject({ deliverAt: DueTime })]);

export const ScheduleBody = strictObject({
  topic: z.string().describe('Where its messages go. It cannot be changed.'),
  payload: z.unknown().describe('What its messages carry.'),
  ...({
    every: optional(Duration),
    cron: optional(z.string()).describe('A cron expression of five or six fields.'),
    timeZone: optional(z.string()).describe('The time zone of the expression; UTC if it is left out.'),
    startAt: optional(Time),
    endAt: optional(Time),
    catchUp: optional(z.enum(['none', 'latest', 'all'])).describe('Which occurrences of an outage are caught up.'),
    overlap: optional(z.enum(['allow', 'skip'])).describe('Whether one is published while an earlier one is not over.'),
  } satisfies Shape<ScheduleRule>),
  options: optional(strictObject(MESSAGE_OPTIONS)),
}).meta({ id: 'NewSchedule' });

/** A message by its id may need its key as well. */
export const KeyQuery = strictObject({
  key: optional(z.string()).describe('Its key, if it was published with one.'),
});

export const TagQuery = strictObject({ tag: z.string().describe('What the messages carry.') });

export const TopicQuery = strictObject({ topic: optional(z.string()).describe('Only those of this topic.') });
