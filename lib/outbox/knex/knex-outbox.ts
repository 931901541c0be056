import { describe } from '../../checks/describe.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import { type BegunTransaction, FollowedTransactions } from '../adapters/followed-transactions.js';
import type {
  OutboxAdapter,
  OutboxDialect,
  OutboxTransaction,
  OutboxValue,
} from '../table/outbox-adapter.interface.js';

/** Runs statements: Knex itself, and its transactions. */
interface Runner {
  raw(sql: string, bindings: readonly OutboxValue[]): PromiseLike<unknown>;
}

interface KnexTransaction extends Runner {
  readonly executionPromise: Promise<unknown>;
  rollback(error?: unknown): unknown;
}

type Container = (trx: KnexTransaction) => unknown;

/**
 * The parts of Knex 3 that the outbox uses.
 *
 * @publicApi
 */
export interface KnexLike {
  readonly client: unknown;
  readonly transaction: unknown;
  raw(sql: string, bindings: readonly OutboxValue[]): PromiseLike<unknown>;
}

interface Beginning {
  transaction(container: Container): Promise<unknown>;
}

/** The part of its client through which every transaction is begun. */
interface Client {
  readonly dialect?: string;
  transaction(container: Container, ...rest: readonly unknown[]): unknown;
}

const DIALECTS: Readonly<Record<string, OutboxDialect>> = { postgresql: 'postgres', mysql: 'mysql' };

/**
 * Finds the transactions of a Knex instance: those of `knex.transaction(callback)` within the callback, and those that `await
 * knex.transaction()` returns in the code that follows. Make it once for an instance, before the first transaction.
 *
 * @throws ConfigurationError if it speaks another dialect than PostgreSQL's or MySQL's
 *
 * @publicApi
 */
export function knexOutbox(knex: KnexLike): OutboxAdapter {
  const client = knex.client as Client;
  const dialect = DIALECTS[String(client.dialect)];
  if (!dialect) {
    throw new ConfigurationError(
      `knexOutbox() takes Knex with a client for PostgreSQL, MySQL or MariaDB. Given: ${describe(client.dialect)}.`,
    );
  }
  const rowsOf = (result: unknown): readonly object[] => {
    const rows: unknown = dialect === 'postgres' ? (result as { rows: unknown }).rows : (result as unknown[])[0];
    return Array.isArray(rows) ? (rows as readonly object[]) : [];
  };
  // Knex numbers the places of parameters itself.
  const run = async (runner: Runner, sql: string, parameters: readonly OutboxValue[]): Promise<readonly object[]> =>
    rowsOf(await runner.raw(sql.replaceAll(/\$\d+/g, '?'), parameters));
  const followed = new FollowedTransactions<KnexTransaction>(run);
  const begin = client.transaction.bind(client);
  client.transaction = (container, ...rest) => {
    if (isMadeByKnex(container)) {
      const begun = followed.enter();
      return begin(
        (trx) => {
          tellOfEnd(trx, begun(trx));
          return container(trx);
        },
        ...rest,
      );
    }
    return begin(
      (trx) => {
        tellOfEnd(trx, followed.begun(trx));
        return followed.within(trx, () => container(trx));
      },
      ...rest,
    );
  };
  return {
    dialect,
    current: () => followed.current(),
    of: (handle) => followed.of(handle),
    query: async (sql, parameters) => run(knex, sql, parameters),
    transaction: async (work) =>
      (knex as Beginning).transaction(async (trx) => work(followed.of(trx) as OutboxTransaction)),
  };
}

/** Whether the container is the `resolve` of a promise: so Knex begins a transaction for which it got no callback. */
function isMadeByKnex(container: Container): boolean {
  return container.name === '' && Function.prototype.toString.call(container).includes('[native code]');
}

function tellOfEnd(trx: KnexTransaction, transaction: BegunTransaction): void {
  const rollback = trx.rollback.bind(trx);
  // The promise of a transaction that was begun by hand resolves after a rollback, too.
  trx.rollback = (error) => {
    transaction.end('rolled-back');
    return rollback(error);
  };
  trx.executionPromise.then(
    () => transaction.end('committed'),
    () => transaction.end('rolled-back'),
  );
}
