import { Propagation, type TransactionalAdapter, type TransactionHost } from '@nestjs-cls/transactional';
import type { Kysely } from 'kysely';
import type { Knex } from 'knex';
import type { OutboxDialect } from 'nestjs-delay-queue/outbox';
import { drizzleOutbox } from 'nestjs-delay-queue/outbox/drizzle';
import { knexOutbox } from 'nestjs-delay-queue/outbox/knex';
import { kyselyOutbox } from 'nestjs-delay-queue/outbox/kysely';
import { nestjsClsOutbox } from 'nestjs-delay-queue/outbox/nestjs-cls';
import { typeOrmOutbox } from 'nestjs-delay-queue/outbox/typeorm';
import type { DataSource, EntityManager } from 'typeorm';
import type { Subject } from './behaviours.js';

export function knexSubject(knex: Knex): Subject {
  return {
    adapter: knexOutbox(knex),
    pool: knex,
    transaction: async (run) => knex.transaction(run),
    savepoint: async (handle, run) => (handle as Knex.Transaction).transaction(run),
    byHand: async () => {
      const trx = await knex.transaction();
      return {
        handle: trx,
        commit: async () => trx.commit(),
        rollback: async () => trx.rollback(),
      };
    },
  };
}

export function kyselySubject(db: Kysely<object>, dialect: OutboxDialect): Subject {
  return {
    adapter: kyselyOutbox(db, { dialect }),
    pool: db,
    transaction: async (run) => db.transaction().setIsolationLevel('read committed').execute(run),
  };
}

/** A database of Drizzle, whatever its driver. */
interface Drizzle {
  execute(query: never): unknown;
  transaction<T>(run: (tx: Drizzle) => Promise<T>): Promise<T>;
}

export function drizzleSubject(db: object, dialect: OutboxDialect): Subject {
  const database = db as Drizzle;
  return {
    adapter: drizzleOutbox(database, { dialect }),
    pool: db,
    transaction: async (run) => database.transaction(run),
    savepoint: async (tx, run) => (tx as Drizzle).transaction(run),
  };
}

/** A host of transactions of a library that its own subject shows. */
export function nestjsClsSubject(
  host: TransactionHost<TransactionalAdapter<unknown, unknown, object>>,
  below: Subject,
): Subject {
  return {
    adapter: nestjsClsOutbox(host, below.adapter),
    pool: below.pool,
    transaction: async (run) => host.withTransaction(async () => run(host.tx)),
    savepoint: async (_, run) => host.withTransaction(Propagation.Nested, run),
  };
}

export function typeOrmSubject(dataSource: DataSource): Subject {
  return {
    adapter: typeOrmOutbox(dataSource),
    pool: dataSource,
    transaction: async (run) => dataSource.transaction(run),
    savepoint: async (manager, run) => (manager as EntityManager).transaction(run),
    byHand: async () => {
      const runner = dataSource.createQueryRunner();
      await runner.startTransaction();
      return {
        handle: runner,
        commit: async () => runner.commitTransaction().then(async () => runner.release()),
        rollback: async () => runner.rollbackTransaction().then(async () => runner.release()),
      };
    },
  };
}
