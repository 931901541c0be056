import { FollowedTransactions } from '../adapters/followed-transactions.js';
import type {
  OutboxAdapter,
  OutboxDialect,
  OutboxTransaction,
  OutboxValue,
} from '../table/outbox-adapter.interface.js';

/** A statement, as `sql` of Drizzle makes it. */
interface Statement {
  getSQL(): { toQuery(): { readonly sql: string; readonly params: readonly OutboxValue[] } };
}

/** Runs statements: Drizzle itself, and its transactions. */
interface Runner {
  execute(query: Statement): PromiseLike<unknown>;
}

type Callback = (tx: Runner) => Promise<unknown>;

/** The part of a database of Drizzle through which every transaction is begun. */
interface Beginning extends Runner {
  transaction(callback: Callback, ...rest: readonly unknown[]): Promise<unknown>;
}

/**
 * The parts of a database of Drizzle that the outbox uses.
 *
 * @publicApi
 */
export interface DrizzleLike {
  // Methods that TypeScript lets any form of them stand for.
  execute(query: never): unknown;
  transaction(callback: never, config?: never): unknown;
}

/**
 * Options of {@link drizzleOutbox}.
 *
 * @publicApi
 */
export interface DrizzleOutboxOptions {
  /** SQL of the database. */
  dialect: OutboxDialect;
}

/**
 * Finds the transactions of a database of Drizzle: those of `db.transaction(callback)` within the callback. Make it once for a database, before
 * the first transaction.
 *
 * @publicApi
 */
export function drizzleOutbox(db: DrizzleLike, { dialect }: DrizzleOutboxOptions): OutboxAdapter {
  const followed = new FollowedTransactions<Runner>(async (tx, sql, parameters) => run(dialect, tx, sql, parameters));
  const database = db as unknown as Beginning;
  const begin = database.transaction.bind(database);
  database.transaction = async (callback, ...rest) =>
    followed.follow(async (within) => begin(within, ...rest), callback);
  return {
    dialect,
    current: () => followed.current(),
    of: (handle) => followed.of(handle),
    query: async (sql, parameters) => run(dialect, database, sql, parameters),
    transaction: async (work) => database.transaction(async (tx) => work(followed.of(tx) as OutboxTransaction)),
  };
}

/** @returns the rows; Drizzle answers as its driver does: with rows, with an object that has them, or, of MySQL, with rows and columns */
async function run(
  dialect: OutboxDialect,
  runner: Runner,
  sql: string,
  params: readonly OutboxValue[],
): Promise<readonly object[]> {
  const query = { sql, params };
  const result = await runner.execute({ getSQL: () => ({ toQuery: () => query }) });
  const answer = dialect === 'mysql' ? (result as readonly unknown[])[0] : result;
  const rows: unknown = Array.isArray(answer) ? answer : (answer as { readonly rows?: unknown }).rows;
  return Array.isArray(rows) ? (rows as readonly object[]) : [];
}
