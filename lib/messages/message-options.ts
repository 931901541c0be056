import { describe } from '../checks/describe.js';
import { isDate, isPlainObject } from '../checks/kinds.js';
import { MAX_ATTEMPTS, MAX_TAGS } from '../checks/limits.js';
import {
  type Rules,
  type Used,
  declared,
  described,
  duration,
  integer,
  named,
  objectOf,
  oneOf,
  option,
  orElse,
  optional,
  schemaOf,
  text,
  trueOrFalse,
} from '../checks/rules.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { adviceOnDate } from '../time/date.js';
import { localToEpoch } from '../time/local-time.js';
import { ID } from './message-ref.js';
import { STORED_BACKOFF } from './backoff.js';
import type { PublishOptions, TransactionOptions } from './publish-options.interface.js';
import { REPLICAS } from './replicas.js';
import { checkedTags } from './tags.js';

const HEADERS = declared(
  { type: 'object', additionalProperties: { type: 'string' } },
  (name, headers: unknown): Record<string, string> => {
    if (!isPlainObject(headers)) {
      throw new InvalidArgumentError(`${name} must be an object of strings. Given: ${describe(headers)}.`);
    }
    for (const header in headers) {
      if (typeof headers[header] === 'string') continue;
      throw new InvalidArgumentError(`${name}['${header}'] must be a string. Given: ${describe(headers[header])}.`);
    }
    return headers as Record<string, string>;
  },
);

const TAGS = declared({ type: 'array', items: { type: 'string' }, maxItems: MAX_TAGS }, checkedTags);

/** JSON schema of a time. */
export const ISO_TIME = { type: 'string', format: 'date-time' };

const LOCAL_TIME = named('LocalTime', {
  ...schemaOf({
    local: described("Without an offset, such as '2026-12-24T18:00'.", text()),
    timeZone: described("A name of the IANA database, such as 'Europe/Berlin'.", text()),
  }),
  description: 'A time as the clocks of a time zone show it.',
});

const DUE_TIME = named('DueTime', {
  anyOf: [ISO_TIME, { type: 'number' }, LOCAL_TIME],
  description: 'ISO 8601 with its zone, epoch milliseconds, or a local time. A time that has passed means at once.',
});

/** Rule for `deliverAt`, which yields epoch milliseconds. */
export const DELIVER_AT = declared(DUE_TIME, (name, given: NonNullable<PublishOptions['deliverAt']>): number => {
  const at = toEpoch(name, given);
  if (Number.isFinite(at)) return at;
  throw new InvalidArgumentError(
    `${name} must be a valid Date, epoch milliseconds, or { local, timeZone }. Given: ${describe(given)}.${adviceOnDate(given)}`,
  );
});

function toEpoch(name: string, given: NonNullable<PublishOptions['deliverAt']>): number {
  if (isDate(given)) return given.getTime();
  return typeof given === 'object' && isPlainObject(given) ? localToEpoch(name, given) : (given as number);
}

/** Rules for the options that messages of a schedule have too. All but the key are stored in their envelopes. */
export const MESSAGE_RULES = {
  key: option(
    'Places the message in a partition, and in an ordered topic behind others of the key; 1 to 256 characters. If it is left out, it is the id.',
    ID,
  ),
  attempts: option('How many deliveries may fail before it is a dead letter, 1 to 1000.', integer(1, MAX_ATTEMPTS)),
  backoff: option('How long to wait between the attempts, such as {"type":"fixed","delay":"1m"}.', STORED_BACKOFF),
  timeout: option('Longest run of one call of a handler in a Nest application.', duration(1)),
  expireAfter: option('Dead letter if it is not delivered within this time after it was due.', duration(1)),
  headers: option('Stored with the payload.', HEADERS),
  tags: option('Words by which messages can be listed and cancelled: at most 8, of 1 to 128 characters.', TAGS),
} satisfies Partial<Rules<PublishOptions>>;

const { key, ...STORED_RULES } = MESSAGE_RULES;

/** Options that are stored in an envelope. */
export type StoredOptions = Partial<Used<typeof STORED_RULES>>;

export const PUBLISH_RULES = {
  id: option(
    'Names the message, unique in its topic among those of its key; 1 to 256 characters. If it is left out, one is made.',
    ID,
  ),
  key,
  delay: option('Time from now until it is due, up to 10 years. If it is left out, it is due at once.', duration(0)),
  deliverAt: option('When it is due, in place of a delay. A time that has passed means at once.', DELIVER_AT),
  ...STORED_RULES,
  onDuplicate: described(
    "What happens if the id exists: 'reject' refuses the message, 'ignore' leaves the first one as it is, 'replace' gives that one the new payload, options and due time, 'earliest' leaves it, but due at the earlier of both times. If it is left out: 'reject'.",
    orElse(oneOf('reject', 'ignore', 'replace', 'earliest'), 'reject'),
  ),
  maxWait: option(
    'If it replaces others: however often it is replaced, it is due at most so long after the first publish.',
    duration(0),
  ),
  replicas: option(
    'How many replicas of Redis have to confirm the publish, and in which time, such as {"min":1,"timeout":"1s"}.',
    REPLICAS,
  ),
} satisfies Rules<Omit<PublishOptions, keyof TransactionOptions>>;

/** Rules for options that only code of the application's own process can give. */
export const TRANSACTION_RULES = {
  outbox: option('Whether the call is part of a transaction of the database.', trueOrFalse),
  transaction: optional((_, handle: unknown) => handle),
} satisfies Rules<TransactionOptions>;

/** Checks the options of a publish. */
export const checkedOptions = objectOf({ ...PUBLISH_RULES, ...TRANSACTION_RULES });

/** Checks the options of a call that changes a message. */
export const checkedTransactionOptions = objectOf(TRANSACTION_RULES);
