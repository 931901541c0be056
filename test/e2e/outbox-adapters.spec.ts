import type { Knex } from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import { ConfigurationError } from 'nestjs-delay-queue';
import { knexOutbox } from 'nestjs-delay-queue/outbox/knex';
import { typeOrmOutbox } from 'nestjs-delay-queue/outbox/typeorm';
import { DataSource } from 'typeorm';
import { afterAll, describe, expect, it } from 'vitest';
import { type Subject, testAdapter } from '../support/outbox/behaviours.js';
import { knexOnPglite, makeTables } from '../support/outbox/knex-on-pglite.js';
import { PglitePool } from '../support/outbox/pg-on-pglite.js';
import { knexSubject, kyselySubject, typeOrmSubject } from '../support/outbox/subjects.js';

/** Opens a subject once for all tests. */
function once(open: () => Promise<Subject>): () => Promise<Subject> {
  let subject: Promise<Subject> | undefined;
  return async () => (subject ??= open());
}

async function openPool(): Promise<PglitePool> {
  const pool = new PglitePool();
  await pool.makeTables();
  return pool;
}

describe('knexOutbox', () => {
  let knex: Knex | undefined;
  afterAll(async () => knex?.destroy());

  testAdapter(
    once(async () => {
      knex = knexOnPglite();
      await makeTables(knex);
      return knexSubject(knex);
    }),
  );

  it('takes no database whose SQL it does not speak', () => {
    expect(() => knexOutbox({ client: { dialect: 'mssql' }, raw: async () => {} })).toThrow(ConfigurationError);
  });
});

describe('kyselyOutbox', () => {
  let db: Kysely<object> | undefined;
  afterAll(async () => db?.destroy());
  const open = once(async () => {
    db = new Kysely<object>({ dialect: new PostgresDialect({ pool: (await openPool()) as never }) });
    return kyselySubject(db, 'postgres');
  });

  testAdapter(open);

  it('knows transactions that are begun by hand only by their handles', async () => {
    const { adapter, pool } = await open();
    for (const end of ['commit', 'rollback'] as const) {
      const trx = await (pool as Kysely<object>).startTransaction().execute();
      expect(adapter.current()).toBeUndefined();
      const transaction = adapter.of(trx);
      expect(await transaction?.query('SELECT 1 AS one', [])).toEqual([{ one: 1 }]);
      expect(transaction?.state).toBe('active');
      await trx[end]().execute();
      expect(transaction?.state).toBe(end === 'commit' ? 'committed' : 'rolled-back');
    }
  });
});

describe('typeOrmOutbox', () => {
  let source: DataSource | undefined;
  afterAll(async () => source?.destroy());

  testAdapter(
    once(async () => {
      const pool = await openPool();
      // A constructor that returns an object makes that one.
      const driver = {
        Pool: function Pool() {
          return pool;
        },
      };
      source = await new DataSource({ type: 'postgres', driver }).initialize();
      return typeOrmSubject(source);
    }),
  );

  it('takes no database whose SQL it does not speak', () => {
    const given = { options: { type: 'mssql' }, manager: {}, query: async () => [] };
    expect(() => typeOrmOutbox(given)).toThrow(ConfigurationError);
  });
});
