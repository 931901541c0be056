import type { StandardSchemaV1 } from '@standard-schema/spec';
import { isError } from '../checks/kinds.js';
import { describe } from '../checks/describe.js';
import { toPayloadIssues } from '../checks/payload-issues.js';
import { describeDuration } from '../time/duration.js';
import { DelayQueueError, defineKind } from './delay-queue.error.js';

/** Most issues that the text of an `InvalidPayloadError` names. */
const NAMED_ISSUES = 3;

/**
 * Outcome of a finished message that is kept. `'delivered'`: it was delivered at most once, and the result of its handler is unknown.
 *
 * @publicApi
 */
export type FinishedOutcome = 'acked' | 'cancelled' | 'delivered';

const ENDED: Readonly<Record<FinishedOutcome, string>> = {
  acked: 'was acknowledged',
  cancelled: 'was cancelled',
  delivered: 'was delivered',
};

/**
 * The id exists already, or its message has ended and is kept (`outcome`). The stored message was left unchanged.
 *
 * @publicApi
 */
export class DuplicateMessageError extends DelayQueueError {
  static {
    defineKind(this, 'DUPLICATE_MESSAGE');
  }

  readonly code = 'DUPLICATE_MESSAGE';

  constructor(
    readonly topic: string,
    readonly id: string,
    /** Outcome of the message, if it has ended; its id stays taken as long as the topic's option `finished` keeps it. */
    readonly outcome?: FinishedOutcome,
  ) {
    super(
      outcome === undefined
        ? `Topic '${topic}' already holds a message with id '${id}', which was left untouched. ` +
            `Publish with onDuplicate: 'ignore' to accept that, or 'replace' to give it the new payload and due time.`
        : `The message with id '${id}' of topic '${topic}' ${ENDED[outcome]}, and its id stays taken as long as that is kept. ` +
            `Publish with onDuplicate: 'ignore' to accept that, or 'replace' to publish it anew.`,
    );
  }
}

/**
 * A message was stored, but fewer replicas confirmed it in time than the option `replicas` asks for. It can exist and be delivered; a
 * failover can lose it. The library does not publish it again.
 *
 * @publicApi
 */
export class NotReplicatedError extends DelayQueueError {
  static {
    defineKind(this, 'NOT_REPLICATED');
  }

  readonly code = 'NOT_REPLICATED';

  constructor(
    readonly topic: string,
    readonly id: string,
    /** Number of replicas that confirmed it. */
    readonly confirmed: number,
    /** Number of replicas that were requested. */
    readonly min: number,
    /** Time spent waiting for them, in milliseconds. */
    readonly timeout: number,
  ) {
    super(
      `${confirmed} of ${min} replicas confirmed message '${id}' of topic '${topic}' within ${describeDuration(timeout)}. ` +
        `It may exist and be delivered, but a failover may lose it. To wait for the replicas once more, publish it under the ` +
        `same id with onDuplicate: 'ignore'. If this lasts, see that the primary has ${min} connected replicas (INFO replication).`,
    );
  }
}

/**
 * Payload and headers exceed the limit. Nothing was sent.
 *
 * @publicApi
 */
export class PayloadTooLargeError extends DelayQueueError {
  static {
    defineKind(this, 'PAYLOAD_TOO_LARGE');
  }

  readonly code = 'PAYLOAD_TOO_LARGE';

  constructor(
    /** Encoded size, in bytes. */
    readonly size: number,
    /** Largest size allowed, in bytes. */
    readonly limit: number,
  ) {
    super(
      `The encoded payload has ${size} bytes, ${limit} are allowed. Store the large part elsewhere and publish a reference to it.`,
    );
  }
}

/** By the state of the transaction that a call was to be part of; `none`: there was none, `unknown`: its handle is no transaction. */
const NOT_WITHIN = {
  none: 'has to be part of a transaction, and there is none here. Begin one, or pass { outbox: false } to send it at once.',
  unknown:
    'was to be part of a transaction, but the given one is none that the adapter of the outbox knows, such as a pool of connections.',
  committed: 'was to be part of a transaction that has been committed already: probably an await is missing.',
  'rolled-back': 'was to be part of a transaction that has been rolled back: probably an await is missing.',
} as const;

/**
 * A call has to be part of a transaction of your database: it asks for that with `outbox: true` or `transaction`, the module requires it for
 * the topic, or the transaction that it belongs to was rolled back. Nothing was sent or written.
 *
 * @see docs/guides/transactions.md
 *
 * @publicApi
 */
export class TransactionRequiredError extends DelayQueueError {
  static {
    defineKind(this, 'TRANSACTION_REQUIRED');
  }

  readonly code = 'TRANSACTION_REQUIRED';

  constructor(
    readonly topic: string,
    state: keyof typeof NOT_WITHIN,
  ) {
    super(`The call about topic '${topic}' ${NOT_WITHIN[state]}`);
  }
}

/**
 * JSON cannot hold the payload or would change it, or its serializer failed; then nothing was sent. Or a stored message cannot be read
 * back.
 *
 * @publicApi
 */
export class SerializationError extends DelayQueueError {
  static {
    defineKind(this, 'SERIALIZATION');
  }

  readonly code = 'SERIALIZATION';
}

/**
 * The schema of a topic does not accept a payload. Thrown by a publish before anything is sent; a stored message with such a
 * payload becomes a dead letter with this error.
 *
 * @publicApi
 */
export class InvalidPayloadError extends DelayQueueError {
  static {
    defineKind(this, 'INVALID_PAYLOAD');
  }

  readonly code = 'INVALID_PAYLOAD';

  constructor(
    readonly topic: string,
    /** Issues that the schema found, in its own words. */
    readonly issues: readonly StandardSchemaV1.Issue[],
  ) {
    super(
      `The payload does not fit the schema of topic '${topic}': ${summary(issues)}. The schema is given what the ` +
        `handler would get: unless a serializer keeps it, JSON makes a string of a Date.`,
    );
  }
}

function summary(issues: readonly StandardSchemaV1.Issue[]): string {
  const texts = toPayloadIssues(issues).map(({ path, message }) =>
    path === undefined ? message : `${path}: ${message}`,
  );
  const named = texts.slice(0, NAMED_ISSUES);
  const more = issues.length - named.length;
  return more > 0 ? `${named.join('; ')}; and ${more} more` : named.join('; ');
}

/**
 * The schema of a topic threw, so it is unknown whether it accepts the payload; `cause` is its error. Nothing was sent.
 *
 * @publicApi
 */
export class SchemaError extends DelayQueueError {
  static {
    defineKind(this, 'SCHEMA');
  }

  readonly code = 'SCHEMA';

  constructor(
    readonly topic: string,
    cause: unknown,
  ) {
    const reason = isError(cause) ? cause.message : describe(cause);
    super(
      `The schema of topic '${topic}' threw instead of judging the payload: ${reason}. Let it return issues for what it ` +
        `does not accept.`,
      { cause },
    );
  }
}
