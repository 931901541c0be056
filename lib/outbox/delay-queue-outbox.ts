import type { DelayQueueConnection } from '../composition/delay-queue.connection.js';
import { ConfigurationError } from '../errors/options.errors.js';
import { errorLine } from '../log.js';
import { SystemClock } from '../time/clock.js';
import type { TransactionOptions } from '../messages/publish-options.interface.js';
import type { Outbox, OutboxWriter } from '../producer/outbox.interface.js';
import { InboxHandling } from './inbox/inbox-handling.js';
import { InboxTable } from './inbox/inbox-table.js';
import { InboxTopics } from './inbox/inbox-topics.js';
import { InboxWriter } from './inbox/inbox-writer.js';
import { type DelayQueueOutboxOptions, retentionOf, topicMatcher } from './outbox-options.js';
import { BatchSender } from './relay/batch-sender.js';
import { OutboxRelay } from './relay/outbox-relay.js';
import { OutboxTable } from './table/outbox-table.js';
import { Statements } from './table/statements.js';
import { tableNames } from './table/table-names.js';
import { TransactionOutbox } from './transaction-outbox.js';

/** The outbox of a connection, which opens, starts and stops it along with itself. */
export class DelayQueueOutbox implements Outbox {
  readonly #table: OutboxTable;
  readonly #dialect: string;
  readonly #relay: OutboxRelay;
  readonly #transactions: TransactionOutbox;
  readonly #inboxTopics: InboxTopics;
  readonly handleOnce: Outbox['handleOnce'];

  /** @throws ConfigurationError if the connection has an outbox already, or an option cannot be used */
  constructor(connection: DelayQueueConnection, options: Omit<DelayQueueOutboxOptions, 'connection'>) {
    const { broker, backend, topics, events, log } = connection;
    const { adapter, required = [], inboxRetention } = options;
    const names = tableNames(adapter.dialect, options);
    const statements = new Statements(adapter);
    this.#dialect = adapter.dialect;
    this.#table = new OutboxTable(statements, names);
    const timeout = connection.options.publishTimeout;
    const sender = new BatchSender({ broker, topics, clock: backend.clock, events, timeout });
    // The database counts the leases: the time that a test has stopped is not the relay's.
    const clock = new SystemClock();
    this.#relay = new OutboxRelay({ broker, table: this.#table, sender, clock, log, events });
    const now = (): number => broker.now();
    const inbox = new InboxTable(statements, names.inbox);
    this.#inboxTopics = new InboxTopics({
      table: inbox,
      clock,
      log,
      events,
      retention: retentionOf(inboxRetention),
      isCleaner: () => this.#relay.holds(0),
    });
    const handling = new InboxHandling({ adapter, table: inbox, log, events, now });
    this.handleOnce = (handler) => handling.handleOnce(handler);
    this.#transactions = new TransactionOutbox({
      adapter,
      table: this.#table,
      inbox: new InboxWriter(inbox, this.#inboxTopics, now),
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
      await this.#inboxTopics.read();
    } catch (error) {
      if (error instanceof ConfigurationError) throw error;
      throw new ConfigurationError(
        `The tables of the outbox cannot be read: ${errorLine(error)}. If they are missing, 'npx nestjs-delay-queue outbox ddl --dialect ` +
          `${this.#dialect}' prints the statements that make them.`,
        { cause: error },
      );
    }
  }

  async announce(topics: readonly string[]): Promise<void> {
    await this.#inboxTopics.announce(topics);
  }

  start(): void {
    this.#relay.start();
    this.#inboxTopics.start();
  }

  async stop(): Promise<void> {
    await this.#inboxTopics.stop();
    await this.#relay.stop();
  }
}
