import { describe } from '../checks/describe.js';
import { asConfiguration, assertOptions } from '../checks/validate.js';
import { MAX_DELAY } from '../checks/limits.js';
import { ConfigurationError } from '../errors/options.errors.js';
import { type Duration, parseDuration } from '../time/duration.js';
import { DIALECTS, type OutboxAdapter } from './table/outbox-adapter.interface.js';

/**
 * Options of `DelayQueueOutboxModule`.
 *
 * @publicApi
 */
export interface DelayQueueOutboxOptions {
  /** Finds the transactions of your database, such as `knexOutbox(knex)`. */
  adapter: OutboxAdapter;
  /**
   * Name of the table, with its schema or without; that of its shards is the same with `_shards`. `npx nestjs-delay-queue outbox ddl` prints the
   * statements that make them.
   *
   * @defaultValue 'delay_queue_outbox', in PostgreSQL in the schema `public`
   */
  table?: string;
  /**
   * Name of the table of the inbox, which handlers with the option `inbox` need, with its schema or without.
   *
   * @defaultValue 'delay_queue_inbox', in PostgreSQL in the schema `public`
   */
  inboxTable?: string;
  /**
   * How long the inbox knows that a message was handled, cancelled or moved, 1 hour to 10 years. Within that time a message that comes again is
   * not handled again, and `cancel()` answers `'done'`.
   *
   * @defaultValue '7d'
   */
  inboxRetention?: Duration;
  /**
   * Topics that only transactions publish to, such as `'order.*'`, where `*` stands for any text: a call about one outside of a transaction is a
   * `TransactionRequiredError`, unless it says `outbox: false`.
   *
   * @defaultValue none
   */
  required?: readonly string[];
  /** Name of the connection whose producer it joins. Import the module once for each. @defaultValue 'default' */
  connection?: string;
}

/** An hour in milliseconds: topics are announced anew every half. */
const MIN_RETENTION = 60 * 60 * 1000;

/** @throws ConfigurationError that names the wrong option */
export function assertOutboxOptions(where: string, options: Omit<DelayQueueOutboxOptions, 'connection'>): void {
  asConfiguration(where, () =>
    assertOptions('Its options', options, ['adapter', 'table', 'inboxTable', 'inboxRetention', 'required']),
  );
  const { adapter, required = [], inboxRetention } = options;
  asConfiguration(where, () => retentionOf(inboxRetention));
  if (!isAdapter(adapter)) {
    throw new ConfigurationError(
      `${where}: adapter must be an OutboxAdapter, such as knexOutbox(knex) of nestjs-delay-queue/outbox/knex. Given: ${describe(adapter)}.`,
    );
  }
  if (!Array.isArray(required) || !required.every((pattern) => typeof pattern === 'string' && pattern !== '')) {
    throw new ConfigurationError(`${where}: required must be a list of topics. Given: ${describe(required)}.`);
  }
}

function isAdapter(adapter: unknown): boolean {
  const { dialect, current, of, query, transaction } = Object(adapter) as Partial<Record<keyof OutboxAdapter, unknown>>;
  return (
    DIALECTS.some((one) => one === dialect) &&
    [current, of, query, transaction].every((one) => typeof one === 'function')
  );
}

/** @returns milliseconds */
export function retentionOf(given: Duration = '7d'): number {
  return parseDuration('inboxRetention', given, { min: MIN_RETENTION, max: MAX_DELAY });
}

/** Returns whether a topic is one of those that patterns name. */
export function topicMatcher(patterns: readonly string[]): (topic: string) => boolean {
  const matchers = patterns.map((pattern) => {
    const parts = pattern.split('*').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
    return new RegExp(`^${parts.join('.*')}$`, 's');
  });
  return (topic) => matchers.some((matcher) => matcher.test(topic));
}
