import { PGlite } from '@electric-sql/pglite';
import { Global, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClsPluginTransactional, TransactionHost } from '@nestjs-cls/transactional';
import { TransactionalAdapterDrizzleOrm } from '@nestjs-cls/transactional-adapter-drizzle-orm';
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { drizzle } from 'drizzle-orm/pglite';
import type { Knex } from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import { ClsModule } from 'nestjs-cls';
import { ConfigurationError } from 'nestjs-delay-queue';
import { knexOutbox } from 'nestjs-delay-queue/outbox/knex';
import { typeOrmOutbox } from 'nestjs-delay-queue/outbox/typeorm';
import { DataSource } from 'typeorm';
import { afterAll, describe, expect, it } from 'vitest';
import { outboxDdl } from '../../lib/outbox/table/ddl.js';
import { type Subject, testAdapter } from '../support/outbox/behaviours.js';
import { knexOnPglite, makeTables } from '../support/outbox/knex-on-pglite.js';
import { PglitePool } from '../support/outbox/pg-on-pglite.js';
import {
  drizzleSubject,
  knexSubject,
  kyselySubject,
  nestjsClsSubject,
  typeOrmSubject,
} from '../support/outbox/subjects.js';

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
    expect(() => knexOutbox({ client: { dialect: 'mssql' }, transaction: undefined, raw: async () => {} })).toThrow(
      ConfigurationError,
    );
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

describe('drizzleOutbox', () => {
  const pglite = new PGlite();
  afterAll(async () => pglite.close());

  testAdapter(
    once(async () => {
      await pglite.exec(outboxDdl('postgres'));
      return drizzleSubject(drizzle({ client: pglite }), 'postgres');
    }),
  );
});

async function openSource(): Promise<DataSource> {
  const pool = await openPool();
  // A constructor that returns an object makes that one.
  const driver = {
    Pool: function Pool() {
      return pool;
    },
  };
  return new DataSource({ type: 'postgres', driver }).initialize();
}

describe('nestjsClsOutbox', () => {
  const pglite = new PGlite();
  const closing: (() => Promise<void>)[] = [async () => pglite.close()];
  afterAll(async () => {
    for (const close of closing) await close();
  });

  /**
   * @param value the connection of a library
   * @param adapter that of nestjs-cls for the library; its types are not made for exact optional properties
   */
  async function open(value: object, adapter: object, below: Subject): Promise<Subject> {
    @Global()
    @Module({ providers: [{ provide: 'db', useValue: value }], exports: ['db'] })
    class Db {}
    const plugins = [new ClsPluginTransactional({ imports: [Db], adapter: adapter as never })];
    @Module({ imports: [Db, ClsModule.forRoot({ global: true, plugins })] })
    class App {}
    const app = await NestFactory.createApplicationContext(App, { logger: false });
    closing.unshift(async () => app.close());
    return nestjsClsSubject(app.get(TransactionHost), below);
  }

  describe('over TypeORM', () => {
    testAdapter(
      once(async () => {
        const source = await openSource();
        return open(source, new TransactionalAdapterTypeOrm({ dataSourceToken: 'db' }), typeOrmSubject(source));
      }),
    );
  });

  describe('over Drizzle', () => {
    testAdapter(
      once(async () => {
        await pglite.exec(outboxDdl('postgres'));
        const db = drizzle({ client: pglite });
        // With options that say nothing, Drizzle sends a statement that PostgreSQL does not understand.
        const defaultTxOptions = { isolationLevel: 'read committed' } as const;
        const adapter = new TransactionalAdapterDrizzleOrm({ drizzleInstanceToken: 'db', defaultTxOptions });
        return open(db, adapter, drizzleSubject(db, 'postgres'));
      }),
    );
  });
});

describe('typeOrmOutbox', () => {
  let source: DataSource | undefined;
  afterAll(async () => source?.destroy());

  testAdapter(
    once(async () => {
      source = await openSource();
      return typeOrmSubject(source);
    }),
  );

  it('takes no database whose SQL it does not speak', () => {
    const given = { options: { type: 'mssql' }, manager: {}, query: async () => [] };
    expect(() => typeOrmOutbox(given)).toThrow(ConfigurationError);
  });
});
