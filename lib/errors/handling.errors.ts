import { enumerate } from '../checks/describe.js';
import { MAX_DELAY } from '../checks/limits.js';
import { assertOneOf, assertOptions } from '../checks/validate.js';
import { quoted } from '../log.js';
import { describeDuration, type Duration, parseDuration } from '../time/duration.js';
import { retryAfterOf } from '../time/retry-after.js';
import { defineKind, DelayQueueError } from './delay-queue.error.js';

/**
 * A message could not be pushed to its URL: the attempt has failed, and the message comes again after its backoff, or is a dead letter.
 * Appears only in failures, in events, and in backoff functions.
 *
 * @see docs/guides/push.md
 *
 * @publicApi
 */
export class PushFailedError extends DelayQueueError {
  static {
    defineKind(this, 'PUSH_FAILED');
  }

  readonly code = 'PUSH_FAILED';

  constructor(
    message: string,
    /** Status of the server's answer; `undefined` if there was none, for example because the connection failed. */
    readonly status?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * A client could not emit a message: the attempt has failed, and the message comes again after its backoff, or is a dead letter. `cause` is
 * the client's error. Appears only in failures, in events, and in backoff functions.
 *
 * @see docs/guides/forward.md
 *
 * @publicApi
 */
export class ForwardFailedError extends DelayQueueError {
  static {
    defineKind(this, 'FORWARD_FAILED');
  }

  readonly code = 'FORWARD_FAILED';
}

/**
 * Thrown by a handler if retrying cannot help: the message becomes a dead letter at once.
 *
 * @publicApi
 */
export class UnrecoverableError extends DelayQueueError {
  static {
    defineKind(this, 'UNRECOVERABLE');
  }

  readonly code = 'UNRECOVERABLE';
}

/** Time by which a message is put off if the right time is unknown, in milliseconds. */
const UNKNOWN_DELAY = 30_000;

/**
 * Thrown by a handler that cannot do its work now. The message is put off by `delay` and no attempt is spent, however often
 * this happens.
 *
 * A delay that cannot be read, such as one from a server's answer, counts as 30 seconds, with a note in the log: an error about it, thrown
 * in a handler, would spend the attempt after all.
 *
 * @example
 * ```ts
 * if (response.status === 429) throw new RetryLaterError('30s');
 * ```
 *
 * @publicApi
 */
export class RetryLaterError extends DelayQueueError {
  static {
    defineKind(this, 'RETRY_LATER');
  }

  readonly code: 'RETRY_LATER' | 'RATE_LIMITED' = 'RETRY_LATER';

  /** Time by which the message is put off, in milliseconds. */
  readonly delay: number;

  /** Problem with the given delay. */
  readonly problem: string | undefined;

  /** @param delay 0 to 10 years */
  constructor(delay: Duration, message?: string) {
    const { milliseconds, problem } = readDelay(delay);
    super(message ?? `The handler asked for the message again in ${describeDuration(milliseconds)}.`);
    this.delay = milliseconds;
    this.problem = problem;
  }
}

function readDelay(delay: Duration): { milliseconds: number; problem: string | undefined } {
  try {
    return { milliseconds: parseDuration('delay', delay, { max: MAX_DELAY }), problem: undefined };
  } catch (error) {
    return { milliseconds: UNKNOWN_DELAY, problem: (error as Error).message };
  }
}

/**
 * Scope of a rate limit that a handler has hit: only this message, all messages of its key, or all of its topic.
 *
 * @publicApi
 */
export type RateLimitScope = 'message' | 'key' | 'topic';

export const RATE_LIMIT_SCOPES = ['message', 'key', 'topic'] as const satisfies readonly RateLimitScope[];

/**
 * A `RetryLaterError`, thrown by a handler that has hit someone else's rate limit, such as a response with status 429. Nothing of its scope
 * begins anywhere in the fleet before `delay` is over, and no attempt is spent.
 *
 * @example
 * ```ts
 * if (response.status === 429) throw RateLimitedError.after(response.headers.get('retry-after'));
 * ```
 *
 * @publicApi
 */
export class RateLimitedError extends RetryLaterError {
  static {
    defineKind(this, 'RATE_LIMITED');
  }

  override readonly code = 'RATE_LIMITED';

  readonly scope: RateLimitScope;

  /**
   * Creates an error from the `Retry-After` header of a response, which has seconds or a date (RFC 9110, 10.2.3), or is missing.
   *
   * @param fallback delay if the header is missing, cannot be read, or asks for more than 10 years; 30 seconds by default
   */
  static after(
    retryAfter: string | null | undefined,
    { fallback = UNKNOWN_DELAY, scope = 'topic' }: { fallback?: Duration; scope?: RateLimitScope } = {},
  ): RateLimitedError {
    const delay = retryAfterOf(retryAfter);
    return new RateLimitedError(delay === undefined || delay > MAX_DELAY ? fallback : delay, { scope });
  }

  /**
   * @param delay 0 to 10 years
   * @param options.scope scope of the limit; by default the topic
   * @throws InvalidArgumentError if there is no such scope
   */
  constructor(delay: Duration, options: { scope?: RateLimitScope } = {}, message?: string) {
    assertOptions('The options of a RateLimitedError', options, ['scope']);
    const { scope = 'topic' } = options;
    assertOneOf('scope', scope, RATE_LIMIT_SCOPES);
    super(delay, message ?? `The handler has met a rate limit of the ${scope}.`);
    this.scope = scope;
  }
}

/**
 * A handler ran longer than its `timeout`: reason of the aborted signal, and error of the failed attempt. Also the error of an attempt that
 * waited for that time because an earlier one of the same message had not ended; its handler was not called.
 *
 * @publicApi
 */
export class HandlerTimeoutError extends DelayQueueError {
  static {
    defineKind(this, 'HANDLER_TIMEOUT');
  }

  readonly code = 'HANDLER_TIMEOUT';

  constructor(
    /** Timeout that was exceeded, in milliseconds. */
    readonly timeout: number,
    /** @param earlierAttempt attempt that still ran, if the handler was not called */
    earlierAttempt?: number,
  ) {
    const limit = `its timeout of ${describeDuration(timeout)}`;
    super(
      earlierAttempt === undefined
        ? `The handler did not finish within ${limit}.`
        : `The handler was not called within ${limit}: attempt ${earlierAttempt} of the message still runs in this process.`,
    );
  }
}

/**
 * Never thrown, but emitted by `events.errors`: a handler has been running for longer than three leases and has no `timeout`, so it may
 * hang. It goes on, and its lease is renewed.
 *
 * @publicApi
 */
export class HandlerOverrunError extends DelayQueueError {
  static {
    defineKind(this, 'HANDLER_OVERRUN');
  }

  readonly code = 'HANDLER_OVERRUN';

  constructor(
    /** Class and method of the handler, such as `OrderService.onTimeout`. */
    readonly handler: string,
    readonly topic: string,
    /** Ids of the messages that it was called with. */
    readonly ids: readonly string[],
    /** Run time so far, in milliseconds. */
    readonly duration: number,
    /** @param lease milliseconds */
    lease: number,
  ) {
    const which = enumerate(ids.map(quoted));
    super(
      `${handler} has run for ${Math.round(duration / 1000)} s with ${ids.length === 1 ? 'message' : 'messages'} ${which} ` +
        `of topic '${topic}', longer than three leases of ${lease / 1000} s. While it runs its lease is renewed and its ` +
        `slot is taken. If it may hang, set a 'timeout' for the handler or the topic; if it is meant to take this long, ` +
        `set a 'timeout' or a 'lease' that says so.`,
    );
  }
}

/**
 * Reason why `message.signal` is aborted from outside the handler.
 *
 * - `LEASE_LOST`: the delivery no longer belongs to this process; the handler's result has no effect.
 * - `CANCELLED`: the message was cancelled; no retry follows.
 * - `GIVEN_UP`: an interceptor or a middleware has failed the attempt and did not wait for the handler. Until the handler ends, this
 *   process does not call it with the message again.
 * - `SHUTDOWN`: the process, or its intake of the topic, stops and `shutdownTimeout` is over; the message was given back for another
 * process.
 *
 * @publicApi
 */
export class DeliveryAbortedError extends DelayQueueError {
  static {
    defineKind(this, 'DELIVERY_ABORTED');
  }

  constructor(readonly code: 'LEASE_LOST' | 'CANCELLED' | 'GIVEN_UP' | 'SHUTDOWN') {
    super(REASONS[code]);
  }
}

const REASONS = {
  LEASE_LOST: 'The lease of this delivery was lost; the message may be delivered to another process.',
  CANCELLED: 'The message was cancelled while its handler was running.',
  GIVEN_UP: 'An interceptor or a middleware has failed the attempt and did not wait for its handler.',
  SHUTDOWN:
    'The process or its intake of the topic is stopping, and the handler ran past the shutdown timeout; the message was handed back.',
} as const;
