import { RetryLaterError } from '../../errors/handling.errors.js';
import type { EventSink } from '../../events/queue-events.interface.js';
import { errorLine, errorText, type Log } from '../../log.js';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';
import type { Handles } from '../../middleware/middleware-layers.js';
import { type InnerCalls, withInnerCalls } from '../../time/inner-calls.js';
import { onAbort } from '../../time/sleep.js';
import type { OutboxAdapter, OutboxTransaction } from '../table/outbox-adapter.interface.js';
import { deliver } from './inbox-entry.js';
import type { InboxTable } from './inbox-table.js';

export interface InboxHandlingOptions {
  readonly adapter: Pick<OutboxAdapter, 'transaction'>;
  readonly table: InboxTable;
  readonly log: Log;
  readonly events: EventSink;
  /** Returns the time of Redis, in epoch milliseconds. */
  readonly now: () => number;
}

/** Time by which messages are put off while the database is away, in milliseconds. */
const AWAY = 5000;

/** Longest time by which a message is put off whose transaction the database has given up for another one, in milliseconds. */
const CONFLICT = 200;

/** Codes with which PostgreSQL, and MySQL and MariaDB, give up a transaction that would succeed another time. */
const CONFLICTS: ReadonlySet<unknown> = new Set([
  '40001',
  '40P01',
  'ER_LOCK_DEADLOCK',
  'ER_LOCK_WAIT_TIMEOUT',
  'ER_CHECKREAD',
]);

/** Result of a transaction in which the handler was not called; the number is the time until the message is due. */
type NotCalled = { readonly putOff: number | undefined };

/**
 * Handles each message in one transaction with a record of that, so that it has its effects once. The record is locked before the handler is
 * called: another delivery of the message, or a transaction that cancels it, waits for its end.
 */
export class InboxHandling {
  readonly #options: InboxHandlingOptions;
  #isAway = false;

  constructor(options: InboxHandlingOptions) {
    this.#options = options;
  }

  /** @param handler handles one message a call */
  handleOnce<H extends Handles>(handler: H): H {
    return {
      ...handler,
      handle: ([message], outlived) => {
        const handle = async (calls: InnerCalls): Promise<unknown> =>
          this.#handle(message as DelayedMessage, async (joined) =>
            calls.follow((async () => handler.handle([joined], outlived))()),
          );
        return withInnerCalls(handle, outlived);
      },
    };
  }

  async #handle(message: DelayedMessage, run: (message: DelayedMessage) => Promise<unknown>): Promise<unknown> {
    let isCalled = false;
    let notCalled: NotCalled | undefined;
    let result: unknown;
    try {
      await this.#options.adapter.transaction(async (transaction) => {
        notCalled = await this.#begin(transaction, message);
        this.#isAway = false;
        if (notCalled) return;
        // It may have waited for another transaction.
        message.signal.throwIfAborted();
        isCalled = true;
        result = await unlessAborted(message.signal, run(Object.assign(message, { transaction: transaction.handle })));
        // Only now: a transaction that has failed, though the handler has not, refuses it.
        await this.#options.table.handled(transaction, message, message.publishedAt.getTime());
      });
    } catch (error) {
      if (isConflict(error)) throw putOff(Math.ceil(Math.random() * CONFLICT), error);
      throw isCalled || message.signal.aborted ? error : this.#away(error);
    }
    if (notCalled?.putOff === undefined) return result;
    throw new RetryLaterError(notCalled.putOff, 'The message was moved to another time in a transaction.');
  }

  /** Locks the entry of a message. Returns why it is not to be handled; `undefined` if it is. */
  async #begin(transaction: OutboxTransaction, message: DelayedMessage): Promise<NotCalled | undefined> {
    const { table, now } = this.#options;
    const delivery = { publishedAt: message.publishedAt.getTime(), dueAt: message.dueAt.getTime() };
    let decision: ReturnType<typeof deliver> = 'to-handle';
    await table.change(transaction, [message], (entry) => void (decision = deliver(entry, delivery)));
    if (decision === 'to-handle') return undefined;
    return { putOff: decision === 'over' ? undefined : Math.max(1, decision - now()) };
  }

  /** An attempt is not spent before the handler is called. */
  #away(error: unknown): RetryLaterError {
    const { log, events } = this.#options;
    events.emit('errors', { source: 'outbox', error });
    if (!this.#isAway)
      log.warn(`Messages are put off, since no transaction can be begun for them: ${errorLine(error)}`);
    this.#isAway = true;
    return putOff(AWAY, error);
  }
}

/** Whether the database, at whatever depth libraries have put its error, has given up the transaction for another one. */
function isConflict(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { code, driverError, cause } = error as { code?: unknown; driverError?: unknown; cause?: unknown };
  return CONFLICTS.has(code) || isConflict(driverError ?? cause);
}

function putOff(delay: number, cause: unknown): RetryLaterError {
  const error = new RetryLaterError(delay, errorText(cause));
  error.cause = cause;
  return error;
}

/** Rejects as soon as a message is no longer this process's, so that what its handler has changed is rolled back. */
function unlessAborted<T>(signal: AbortSignal, call: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const fail = (): void => reject(signal.reason as Error);
    if (signal.aborted) fail();
    const ignore = onAbort(signal, fail);
    void call.then(resolve, reject).finally(ignore);
  });
}
