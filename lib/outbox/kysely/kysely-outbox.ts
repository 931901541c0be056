import { FollowedTransactions } from '../adapters/followed-transactions.js';
import type {
  OutboxAdapter,
  OutboxDialect,
  OutboxTransaction,
  OutboxValue,
} from '../table/outbox-adapter.interface.js';

/** Runs statements: Kysely itself, and its transactions. */
interface Runner {
  executeQuery(query: object): Promise<{ readonly rows: readonly unknown[] }>;
}

/** A transaction that is begun by hand. */
interface Controlled extends Runner {
  readonly isTransaction: boolean;
  readonly isCommitted?: boolean;
  readonly isRolledBack?: boolean;
}

type Callback = (transaction: Runner) => Promise<unknown>;

interface Builder {
  execute(callback: Callback): Promise<unknown>;
  setIsolationLevel(level: unknown): Builder;
  setAccessMode(mode: unknown): Builder;
}

/**
 * The parts of Kysely that the outbox uses.
 *
 * @publicApi
 */
export interface KyselyLike {
  transaction(): object;
  // A method that TypeScript lets any of its overloads stand for.
  executeQuery(query: never): Promise<{ readonly rows: readonly unknown[] }>;
}

/**
 * Options of {@link kyselyOutbox}.
 *
 * @publicApi
 */
export interface KyselyOutboxOptions {
  /** SQL of the database: a Kysely dialect does not tell. */
  dialect: OutboxDialect;
}

/**
 * Finds the transactions of a Kysely instance: those of `db.transaction().execute(callback)` within the callback. Make it once for an
 * instance, before the first transaction. One that `db.startTransaction()` has begun has to be passed as `transaction`.
 *
 * @publicApi
 */
export function kyselyOutbox(db: KyselyLike, { dialect }: KyselyOutboxOptions): OutboxAdapter {
  const followed = new FollowedTransactions<Runner>(run);
  const begin = db.transaction.bind(db) as () => Builder;
  db.transaction = () => followBuilder(begin(), followed);
  return {
    dialect,
    current: () => followed.current(),
    of: (handle) => followed.of(handle) ?? controlledBy(handle),
    query: async (sql, parameters) => run(db, sql, parameters),
    transaction: async (work) =>
      (db.transaction() as Builder).execute(async (trx) => work(followed.of(trx) as OutboxTransaction)),
  };
}

/** Each setting of a builder makes another one. */
function followBuilder(builder: Builder, followed: FollowedTransactions<Runner>): Builder {
  const execute = builder.execute.bind(builder);
  const setIsolationLevel = builder.setIsolationLevel.bind(builder);
  const setAccessMode = builder.setAccessMode.bind(builder);
  builder.execute = async (callback) => followed.follow(execute, callback);
  builder.setIsolationLevel = (level) => followBuilder(setIsolationLevel(level), followed);
  builder.setAccessMode = (mode) => followBuilder(setAccessMode(mode), followed);
  return builder;
}

function controlledBy(handle: unknown): OutboxTransaction | undefined {
  if (typeof handle !== 'object' || handle === null || !('isTransaction' in handle)) return undefined;
  const transaction = handle as Controlled;
  if (!transaction.isTransaction) return undefined;
  return {
    handle,
    get state() {
      if (transaction.isCommitted) return 'committed';
      return transaction.isRolledBack ? 'rolled-back' : 'active';
    },
    query: async (sql, parameters) => run(transaction, sql, parameters),
    // Kysely does not tell of its end: the relay looks within a second.
    afterCommit: () => {},
  };
}

/** As `CompiledQuery.raw()` makes it. */
async function run(runner: Runner, sql: string, parameters: readonly OutboxValue[]): Promise<readonly object[]> {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] };
  const { rows } = await runner.executeQuery({ sql, query, parameters, queryId: { queryId: 'outbox' } });
  return rows as readonly object[];
}
