import type { Kysely } from 'kysely';
import type { Knex } from 'knex';
import type { OutboxDialect } from 'nestjs-delay-queue/outbox';
import { knexOutbox } from 'nestjs-delay-queue/outbox/knex';
import { kyselyOutbox } from 'nestjs-delay-queue/outbox/kysely';
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
