import { PGlite, type Transaction } from '@electric-sql/pglite';
import { FollowedTransactions, type OutboxAdapter, type OutboxTransaction } from 'nestjs-delay-queue/outbox';
import { afterAll, beforeEach } from 'vitest';
import { outboxDdl } from '../../../lib/outbox/table/ddl.js';

/** PostgreSQL in this process, with the tables of an outbox. It has one connection: statements wait while a transaction is open. */
export class Database {
  readonly adapter: OutboxAdapter;
  readonly #pglite: PGlite;
  readonly #followed = new FollowedTransactions<Transaction>(async (transaction, sql, parameters) => {
    const { rows } = await transaction.query<object>(sql, [...parameters]);
    return rows;
  });

  constructor(pglite: PGlite) {
    this.#pglite = pglite;
    this.adapter = {
      dialect: 'postgres',
      current: () => this.#followed.current(),
      of: (handle) => this.#followed.of(handle),
      query: async (sql, parameters) => this.query(sql, parameters),
      transaction: async (run) =>
        this.transaction(async (transaction) => run(this.#followed.of(transaction) as OutboxTransaction)),
    };
  }

  /** Runs a function within a transaction, which is rolled back if it throws. */
  async transaction<T>(run: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#followed.follow(async (callback) => this.#pglite.transaction(callback), run);
  }

  async query<R extends object>(sql: string, parameters: readonly unknown[] = []): Promise<R[]> {
    const { rows } = await this.#pglite.query<R>(sql, [...parameters]);
    return rows;
  }

  /** Runs several statements. */
  async run(sql: string): Promise<void> {
    await this.#pglite.exec(sql);
  }

  /** Number of rows that wait for the relay. */
  async waiting(): Promise<number> {
    const [row] = await this.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM delay_queue_outbox WHERE shard >= 0',
    );
    return row?.count ?? 0;
  }

  /** Ends every lease, as time does. */
  async endLeases(): Promise<void> {
    await this.run('UPDATE delay_queue_outbox_shards SET lease_until = 0');
  }
}

/** Gives each test of a file empty tables in the same database. */
export function useDatabase(): Database {
  const pglite = new PGlite();
  const database = new Database(pglite);
  beforeEach(async () => {
    await database.run(
      `DROP TABLE IF EXISTS delay_queue_outbox, delay_queue_outbox_shards, delay_queue_inbox; ${outboxDdl('postgres', { shards: 4 })}`,
    );
  });
  afterAll(async () => pglite.close());
  return database;
}
