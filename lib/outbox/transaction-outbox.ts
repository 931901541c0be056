import { InvalidArgumentError } from '../errors/options.errors.js';
import { TransactionRequiredError } from '../errors/publishing.errors.js';
import type { Log } from '../log.js';
import type { MessageRef } from '../messages/message-ref.js';
import type { TransactionOptions } from '../messages/publish-options.interface.js';
import type { Outbox, OutboxWriter } from '../producer/outbox.interface.js';
import type { InboxRef } from './inbox/inbox-table.js';
import type { InboxWriter } from './inbox/inbox-writer.js';
import { CANCEL, type NewRow, RESCHEDULE, shardOf, toPublishRow } from './table/outbox-row.js';
import type { OutboxAdapter, OutboxTransaction } from './table/outbox-adapter.interface.js';
import type { OutboxTable } from './table/outbox-table.js';

export interface TransactionOutboxOptions {
  readonly adapter: OutboxAdapter;
  readonly table: OutboxTable;
  readonly inbox: InboxWriter;
  readonly log: Log;
  /** Whether calls about a topic have to be part of a transaction. */
  readonly isRequired: (topic: string) => boolean;
  /** Called with the shards that a committed transaction has written to. */
  readonly onCommitted: (shard: number) => void;
}

/** Notes a change in the inbox. */
type Note<R> = (ref: InboxRef) => Promise<R>;

/** Writes calls of the producer that are part of a transaction into the table of the outbox. */
export class TransactionOutbox implements Pick<Outbox, 'writerFor'> {
  readonly #options: TransactionOutboxOptions;
  #hasWarned = false;

  constructor(options: TransactionOutboxOptions) {
    this.#options = options;
  }

  writerFor(topic: string, { outbox, transaction: handle }: TransactionOptions = {}): OutboxWriter | undefined {
    const { adapter, isRequired } = this.#options;
    if (outbox === false) {
      if (handle === undefined) return undefined;
      throw new InvalidArgumentError('Give either outbox: false or a transaction, not both.');
    }
    const transaction = handle === undefined ? adapter.current() : adapter.of(handle);
    if (transaction?.state === 'active') return this.#writer(transaction);
    const state = transaction?.state ?? (handle === undefined ? 'none' : 'unknown');
    // Whatever is published along with a transaction that is rolled back must not be there, either.
    const isMeant = outbox === true || handle !== undefined || state === 'rolled-back' || isRequired(topic);
    if (isMeant) throw new TransactionRequiredError(topic, state);
    if (state === 'committed') this.#warn(topic);
    return undefined;
  }

  #writer(transaction: OutboxTransaction): OutboxWriter {
    const { table, inbox, onCommitted } = this.#options;
    const insert = async (rowsFor: (shards: number) => readonly NewRow[]): Promise<void> => {
      // By the transaction's own connection: it may be the only one.
      const rows = rowsFor(await table.shardCount(transaction));
      await table.insert(transaction, rows);
      const written = new Set(rows.map(({ shard }) => shard));
      transaction.afterCommit(() => {
        for (const shard of written) onCommitted(shard);
      });
    };
    const change = async <R>(call: Omit<NewRow, 'shard' | 'key' | 'id' | 'body'>, ref: MessageRef, note: Note<R>) => {
      const { topic } = call;
      const given = typeof ref === 'object' ? ref : { id: ref, key: undefined };
      const { id, key = await this.#keyOf(transaction, topic, id) } = given;
      const result = inbox.has(topic) ? await note({ topic, id, key: key ?? id }) : undefined;
      if (result === 'done' || result === 'not-found') return result;
      await insert((shards) => [{ ...call, shard: shardOf(topic, key ?? id, shards), key, id, body: undefined }]);
      return result;
    };
    return {
      publish: async (topic, requests) => {
        const numbered = inbox.has(topic) ? await inbox.publish(transaction, topic, requests) : requests;
        await insert((shards) => numbered.map((request) => toPublishRow(topic, request, request.due.at, shards)));
      },
      cancel: async (topic, ref) =>
        change({ kind: CANCEL, topic, dueAt: undefined }, ref, (named) => inbox.cancel(transaction, named)),
      reschedule: async (topic, ref, dueAt) =>
        change({ kind: RESCHEDULE, topic, dueAt }, ref, (named) => inbox.move(transaction, named, dueAt)),
    };
  }

  async #keyOf(transaction: OutboxTransaction, topic: string, id: string): Promise<string | undefined> {
    const { table, inbox } = this.#options;
    const known = inbox.has(topic) ? await inbox.keyOf(transaction, topic, id) : undefined;
    return known ?? table.keyOf(transaction, topic, id);
  }

  /** Once: a place that does so does it each time. */
  #warn(topic: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const { stack = '' } = new Error('published here');
    this.#options.log.warn(
      `A call about topic '${topic}' was made by code that a transaction had begun, after that was committed, so it went to Redis at ` +
        `once: probably an await is missing. With { outbox: false } it is meant to. ${stack}`,
    );
  }
}
