/**
 * SQL of a database: `postgres` is PostgreSQL from 12 on, `mysql` is MySQL from 8.0 and MariaDB from 10.6 on.
 *
 * @publicApi
 */
export type OutboxDialect = 'postgres' | 'mysql';

export const DIALECTS: readonly OutboxDialect[] = ['postgres', 'mysql'];

/**
 * Parameter of a statement.
 *
 * @publicApi
 */
export type OutboxValue = string | number | null;

/**
 * A transaction of your database.
 *
 * @publicApi
 */
export interface OutboxTransaction {
  /** The transaction as its library hands it out, such as `trx` of Knex. */
  readonly handle: unknown;
  /** Within a savepoint that was rolled back it is `'rolled-back'`, too. */
  readonly state: 'active' | 'committed' | 'rolled-back';
  /** Runs a statement within the transaction; resolves with its rows. */
  query(sql: string, parameters: readonly OutboxValue[]): Promise<readonly object[]>;
  /** Calls a function once the outermost transaction has been committed. A crash can lose the call: it only wakes the relay. */
  afterCommit(run: () => void): void;
}

/**
 * Finds the transactions of your database for the outbox. `nestjs-delay-queue/outbox/knex` and its neighbours make one for a library; one of
 * your own does for any other.
 *
 * @publicApi
 */
export interface OutboxAdapter {
  readonly dialect: OutboxDialect;
  /** Returns the transaction that this code runs in, also one that has ended; `undefined` if there was none. Sends no statement. */
  current(): OutboxTransaction | undefined;
  /** Returns the transaction of a handle; `undefined` if it is none that this adapter knows, such as a pool. */
  of(handle: unknown): OutboxTransaction | undefined;
  /**
   * Runs a statement outside of all transactions, on a connection of its own; resolves with its rows.
   *
   * @param sql with `$1`, `$2` and so on in place of the parameters for `postgres`, `?` for `mysql`
   */
  query(sql: string, parameters: readonly OutboxValue[]): Promise<readonly object[]>;
  /** Runs a function within a transaction of its own, which {@link current} sees there; rolled back if the function rejects. */
  transaction(run: (transaction: OutboxTransaction) => Promise<void>): Promise<unknown>;
}
