import { isError } from '../checks/kinds.js';
import type { DelayQueueConnection } from '../composition/delay-queue.connection.js';
import { ConfigurationError } from '../errors/options.errors.js';
import { firstLine } from '../log.js';
import { SystemClock } from '../time/clock.js';
import type { TransactionOptions } from '../messages/publish-options.interface.js';
import type { Outbox, OutboxWriter } from '../producer/outbox.interface.js';
import { type DelayQueueOutboxOptions, topicMatcher } from './outbox-options.js';
import { BatchSender } from './relay/batch-sender.js';
import { OutboxRelay } from './relay/outbox-relay.js';
import { OutboxTable } from './table/outbox-table.js';
import { TransactionOutbox } from './transaction-outbox.js';

/** The outbox of a connection, which opens, starts and stops it along with itself. */
export class DelayQueueOutbox implements Outbox {
  readonly #table: OutboxTable;
  readonly #dialect: string;
  readonly #relay: OutboxRelay;
  readonly #transactions: TransactionOutbox;

  /** @throws ConfigurationError if the connection has an outbox already, or `table` is not the name of a table */
  constructor(
    connection: DelayQueueConnection,
    { adapter, table, required = [] }: Omit<DelayQueueOutboxOptions, 'connection'>,
  ) {
    const { broker, backend, topics, events, log, options } = connection;
    this.#dialect = adapter.dialect;
    this.#table = new OutboxTable(adapter, table);
    const sender = new BatchSender({ broker, topics, clock: backend.clock, events, timeout: options.publishTimeout });
    // The database counts the leases: the time that a test has stopped is not the relay's.
    const clock = new SystemClock();
    this.#relay = new OutboxRelay({ broker, table: this.#table, sender, clock, log, events });
    this.#transactions = new TransactionOutbox({
      adapter,
      table: this.#table,
      log,
      isRequired: topicMatcher(required),
      onCommitted: (shard) => this.#relay.committed(shard),
    });
    connection.useOutbox(this);
  }

  writerFor(topic: string, options: TransactionOptions | undefined): OutboxWriter | undefined {
    return this.#transactions.writerFor(topic, options);
  }

  async open(): Promise<void> {
    try {
      await this.#table.shardCount();
    } catch (error) {
      if (error instanceof ConfigurationError) throw error;
      const reason = isError(error) ? firstLine(error.message) : String(error);
      throw new ConfigurationError(
        `The tables of the outbox cannot be read: ${reason}. If they are missing, 'npx nestjs-delay-queue outbox ddl --dialect ` +
          `${this.#dialect}' prints the statements that make them.`,
        { cause: error },
      );
    }
  }

  start(): void {
    this.#relay.start();
  }

  async stop(): Promise<void> {
    await this.#relay.stop();
  }
}
