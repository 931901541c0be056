import { describe } from '../../checks/describe.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import { FollowedTransactions } from '../adapters/followed-transactions.js';
import type {
  OutboxAdapter,
  OutboxDialect,
  OutboxTransaction,
  OutboxValue,
} from '../table/outbox-adapter.interface.js';

/** An `EntityManager`, as which a transaction is handed out. */
interface Manager {
  query(sql: string, parameters: OutboxValue[]): Promise<unknown>;
}

/** The part of a query runner that the outbox uses. */
interface QueryRunner {
  readonly manager: Manager;
  readonly isTransactionActive: boolean;
  startTransaction(...args: readonly unknown[]): Promise<void>;
  commitTransaction(): Promise<void>;
  rollbackTransaction(): Promise<void>;
}

type Work = (manager: Manager) => unknown;

/** The part of its data source through which every transaction is begun. */
interface Source {
  createQueryRunner(...args: readonly unknown[]): QueryRunner;
  readonly manager: { transaction(...args: unknown[]): Promise<unknown> };
}

/**
 * The parts of a `DataSource` of TypeORM that the outbox uses.
 *
 * @publicApi
 */
export interface DataSourceLike {
  readonly options: { readonly type: string };
  readonly manager: object;
  query(sql: string, parameters?: OutboxValue[]): Promise<unknown>;
}

const DIALECTS: Readonly<Record<string, OutboxDialect>> = {
  postgres: 'postgres',
  'aurora-postgres': 'postgres',
  mysql: 'mysql',
  mariadb: 'mysql',
  'aurora-mysql': 'mysql',
};

/**
 * Finds the transactions of a `DataSource`: those of `dataSource.transaction()` and `manager.transaction()` within the callback, and those of a
 * query runner in the code that follows its `startTransaction()`. Make it once for a data source, before the first transaction. As
 * `transaction`, pass the `EntityManager` or the query runner.
 *
 * @throws ConfigurationError if it speaks another dialect than PostgreSQL's or MySQL's
 *
 * @publicApi
 */
export function typeOrmOutbox(dataSource: DataSourceLike): OutboxAdapter {
  const { type } = dataSource.options;
  const dialect = DIALECTS[type];
  if (!dialect) {
    throw new ConfigurationError(
      `typeOrmOutbox() takes a data source for PostgreSQL, MySQL or MariaDB. Given: ${describe(type)}.`,
    );
  }
  const followed = new FollowedTransactions<Manager>(async (manager, sql, parameters) =>
    rowsOf(await manager.query(sql, [...parameters])),
  );
  const { manager } = dataSource as unknown as Source;
  follow(dataSource as unknown as Source, followed);
  return {
    dialect,
    current: () => followed.current(),
    of: (handle) => followed.of(handle) ?? followed.of((handle as Partial<QueryRunner> | null)?.manager),
    query: async (sql, parameters) => rowsOf(await dataSource.query(sql, [...parameters])),
    transaction: async (work) =>
      manager.transaction(async (handed: Manager) => work(followed.of(handed) as OutboxTransaction)),
  };
}

function follow(source: Source, followed: FollowedTransactions<Manager>): void {
  const create = source.createQueryRunner.bind(source);
  source.createQueryRunner = (...args) => {
    const runner = create(...args);
    followRunner(runner, followed);
    return runner;
  };
  const { manager } = source;
  const transaction = manager.transaction.bind(manager);
  manager.transaction = async (...args) => {
    // It may come behind an isolation level.
    const within =
      (work: Work): Work =>
      (handed) =>
        followed.within(handed, () => work(handed));
    const given = args.map((arg) => (typeof arg === 'function' ? within(arg as Work) : arg));
    return followed.apart(() => transaction(...given));
  };
}

function followRunner(runner: QueryRunner, followed: FollowedTransactions<Manager>): void {
  let transaction: ReturnType<typeof followed.begun> | undefined;
  const start = runner.startTransaction.bind(runner);
  // Not an async function: what it enters has to hold in the code that calls it.
  runner.startTransaction = (...args) => {
    // A savepoint.
    if (runner.isTransactionActive) return start(...args);
    const begun = followed.enter();
    return start(...args).then(() => void (transaction = begun(runner.manager)));
  };
  const ends = { commitTransaction: 'committed', rollbackTransaction: 'rolled-back' } as const;
  for (const end of ['commitTransaction', 'rollbackTransaction'] as const) {
    const original = runner[end].bind(runner);
    runner[end] = async () => {
      await original();
      if (!runner.isTransactionActive) transaction?.end(ends[end]);
    };
  }
}

/** TypeORM answers a statement that changes rows with a list of those and their number. */
function rowsOf(result: unknown): readonly object[] {
  if (!Array.isArray(result)) return [];
  const [first] = result as unknown[];
  return (Array.isArray(first) ? first : result) as readonly object[];
}
