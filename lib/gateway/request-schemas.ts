import { MAX_WAIT } from './limits.js';
import { type Schema, ref } from './schema.js';

const text = (description: string): Schema => ({ type: 'string', description });
const count = (description: string): Schema => ({ type: 'integer', description });

const DURATION: Schema = {
  description: "Milliseconds, or a number with a unit: '30s', '1h30m'.",
  oneOf: [{ type: 'number', minimum: 0 }, { type: 'string' }],
};

const TIME: Schema = {
  description: 'ISO 8601 with its zone, or epoch milliseconds.',
  oneOf: [{ type: 'string', format: 'date-time' }, { type: 'number' }],
};

const LOCAL_TIME: Schema = {
  description: 'A time as the clocks of a time zone show it.',
  type: 'object',
  properties: {
    local: text("Without an offset, such as '2026-12-24T18:00'."),
    timeZone: text("A name of the IANA database, such as 'Europe/Berlin'."),
  },
  required: ['local', 'timeZone'],
  additionalProperties: false,
};

const DUE_TIME: Schema = {
  description: 'ISO 8601 with its zone, epoch milliseconds, or a local time. A time that has passed means at once.',
  oneOf: [{ type: 'string', format: 'date-time' }, { type: 'number' }, ref('LocalTime')],
};

const jitter: Schema = { type: 'number', minimum: 0, maximum: 1 };

const BACKOFF: Schema = {
  description: 'How long to wait before the next attempt.',
  oneOf: [
    {
      type: 'object',
      properties: { type: { type: 'string', enum: ['fixed'] }, delay: ref('Duration') },
      required: ['type', 'delay'],
      additionalProperties: false,
    },
    {
      type: 'object',
      properties: {
        type: { type: 'string', enum: ['exponential'] },
        delay: ref('Duration'),
        factor: { type: 'number', minimum: 1, maximum: 10 },
        maxDelay: ref('Duration'),
        jitter,
      },
      required: ['type', 'delay'],
      additionalProperties: false,
    },
    {
      type: 'object',
      properties: {
        type: { type: 'string', enum: ['steps'] },
        delays: { type: 'array', items: ref('Duration'), minItems: 1, maxItems: 100 },
        jitter,
      },
      required: ['type', 'delays'],
      additionalProperties: false,
    },
  ],
};

const HEADERS: Schema = {
  type: 'object',
  description: 'Stored with the payload.',
  additionalProperties: { type: 'string' },
};

/** What messages of schedules can be given as well. */
const MESSAGE_OPTIONS: Readonly<Record<string, Schema>> = {
  key: text('Places the message in a partition; 1 to 256 characters.'),
  headers: HEADERS,
  tags: {
    type: 'array',
    items: { type: 'string' },
    maxItems: 8,
    description: 'Words by which messages can be listed and cancelled.',
  },
  attempts: count('How many deliveries may fail before the message is a dead letter, 1 to 1000.'),
  backoff: ref('Backoff'),
  timeout: ref('Duration'),
  expireAfter: ref('Duration'),
};

const NEW_MESSAGE: Schema = {
  type: 'object',
  properties: {
    payload: { description: 'Any JSON; with its headers at most 1 MiB.' },
    id: text('Names the message; 1 to 256 characters. If it is left out, one is made.'),
    ...MESSAGE_OPTIONS,
    delay: ref('Duration'),
    deliverAt: ref('DueTime'),
    onDuplicate: {
      type: 'string',
      enum: ['reject', 'ignore', 'replace', 'earliest'],
      description: 'What happens if the id exists.',
    },
    maxWait: ref('Duration'),
    replicas: {
      type: 'object',
      description: 'How many replicas of Redis have to confirm the publish, and in which time.',
      properties: { min: { type: 'integer' }, timeout: ref('Duration') },
      required: ['min', 'timeout'],
      additionalProperties: false,
    },
  },
  required: ['payload'],
  additionalProperties: false,
};

const RECEIVE: Readonly<Record<string, Schema>> = {
  max: count('Most messages, 1 to 200; 1 if it is left out.'),
  wait: {
    ...DURATION,
    description: `Longest time until the answer, at most ${MAX_WAIT / 1000} s; 20 s if it is left out. With 0: what is due now.`,
  },
  lease: {
    ...DURATION,
    description:
      'For how long the messages are yours, at least 1 s. With 0 they are delivered at most once: gone when they are received.',
  },
};

const SETTLEMENT: Schema = {
  type: 'object',
  properties: {
    receipt: text('What a received message has.'),
    outcome: { type: 'string', enum: ['ack', 'retry', 'dead', 'release'] },
    delay: { ...DURATION, description: 'Of a retry: until it comes again; by its backoff if it is left out.' },
    reason: text('Of a retry or a dead letter: why. It is kept with the message.'),
  },
  required: ['receipt', 'outcome'],
  additionalProperties: false,
};

const EXTENSION: Schema = {
  type: 'object',
  properties: { receipt: text('What a received message has.'), lease: ref('Duration') },
  required: ['receipt', 'lease'],
  additionalProperties: false,
};

/** Most messages, receipts or extensions of one request. */
const MOST = 1000;

/** Many of something, in a property of a name. */
function manyOf(property: string, items: Schema): Schema {
  return {
    type: 'object',
    properties: { [property]: { type: 'array', items, minItems: 1, maxItems: MOST } },
    required: [property],
    additionalProperties: false,
  };
}

const SCHEDULE_DEFINITION: Schema = {
  type: 'object',
  properties: {
    topic: text('Where its messages go. It cannot be changed.'),
    payload: { description: 'What its messages carry.' },
    every: ref('Duration'),
    cron: text('A cron expression of five or six fields.'),
    timeZone: text('The time zone of the expression; UTC if it is left out.'),
    startAt: ref('Time'),
    endAt: ref('Time'),
    catchUp: {
      type: 'string',
      enum: ['none', 'latest', 'all'],
      description: 'Which occurrences of an outage are caught up.',
    },
    overlap: {
      type: 'string',
      enum: ['allow', 'skip'],
      description: 'Whether one is published while an earlier one is not over.',
    },
    options: { type: 'object', properties: MESSAGE_OPTIONS, additionalProperties: false },
  },
  required: ['topic', 'payload'],
  additionalProperties: false,
};

/** What requests have, by name. */
export const REQUEST_SCHEMAS: Readonly<Record<string, Schema>> = {
  Duration: DURATION,
  Time: TIME,
  LocalTime: LOCAL_TIME,
  DueTime: DUE_TIME,
  Backoff: BACKOFF,
  NewMessage: NEW_MESSAGE,
  NewMessages: manyOf('messages', ref('NewMessage')),
  Reschedule: {
    oneOf: [
      { type: 'object', properties: { delay: ref('Duration') }, required: ['delay'], additionalProperties: false },
      {
        type: 'object',
        properties: { deliverAt: ref('DueTime') },
        required: ['deliverAt'],
        additionalProperties: false,
      },
    ],
  },
  Receive: { type: 'object', properties: RECEIVE, additionalProperties: false },
  ReceiveFrom: {
    type: 'object',
    properties: {
      topics: {
        type: 'array',
        items: { type: 'string' },
        minItems: 1,
        maxItems: 100,
        description: 'What is due in an earlier one comes first.',
      },
      ...RECEIVE,
    },
    required: ['topics'],
    additionalProperties: false,
  },
  Settlement: SETTLEMENT,
  Settlements: manyOf('settlements', ref('Settlement')),
  Extension: EXTENSION,
  Extensions: manyOf('extensions', ref('Extension')),
  ScheduleDefinition: SCHEDULE_DEFINITION,
};
