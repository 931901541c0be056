import { withTime } from '../../messages/envelope.js';
import type { DatedRequest } from '../../producer/outbox.interface.js';
import type { Query } from '../table/statements.js';
import { cancel, type InboxEntry, move, publish } from './inbox-entry.js';
import type { InboxRef, InboxTable } from './inbox-table.js';
import type { InboxTopics } from './inbox-topics.js';

/** Notes calls about topics with an inbox, so that the database decides between them and the handling of their messages. */
export class InboxWriter {
  readonly #table: InboxTable;
  readonly #topics: Pick<InboxTopics, 'has'>;
  readonly #now: () => number;

  /** @param now returns the time of Redis, in epoch milliseconds */
  constructor(table: InboxTable, topics: Pick<InboxTopics, 'has'>, now: () => number) {
    this.#table = table;
    this.#topics = topics;
    this.#now = now;
  }

  has(topic: string): boolean {
    return this.#topics.has(topic);
  }

  async keyOf(transaction: Query, topic: string, id: string): Promise<string | undefined> {
    return this.#table.keyOf(transaction, topic, id);
  }

  /** Notes publishes. Returns the requests with the times that name them. */
  async publish(transaction: Query, topic: string, requests: readonly DatedRequest[]): Promise<DatedRequest[]> {
    const now = Math.round(this.#now());
    const times = new Map<string, number>();
    const refs = requests.map(({ storedId, id, key }) => ({ topic, id, key, storedId }));
    await this.#table.change(transaction, refs, (before, { storedId }) => {
      const { result, entry } = publish(before, now);
      times.set(storedId, result);
      return entry;
    });
    return requests.map((request) => ({
      ...request,
      envelope: withTime(request.envelope, times.get(request.storedId) ?? now),
    }));
  }

  async cancel(transaction: Query, ref: InboxRef): Promise<'cancelled' | 'done'> {
    return this.#change(transaction, ref, (entry) => cancel(entry, Math.round(this.#now())));
  }

  async move(transaction: Query, ref: InboxRef, dueAt: number): Promise<'moved' | 'done' | 'not-found'> {
    return this.#change(transaction, ref, (entry) => move(entry, Math.round(this.#now()), dueAt));
  }

  async #change<R>(
    transaction: Query,
    ref: InboxRef,
    change: (entry: InboxEntry) => { readonly result: R; readonly entry?: InboxEntry },
  ): Promise<R> {
    const results: R[] = [];
    await this.#table.change(transaction, [ref], (before) => {
      const { result, entry } = change(before);
      results.push(result);
      return entry;
    });
    return results[0] as R;
  }
}
