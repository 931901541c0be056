import { createRequire } from 'node:module';
import { PGlite } from '@electric-sql/pglite';
import knex, { type Knex } from 'knex';
import { outboxDdl } from '../../../lib/outbox/table/ddl.js';

/** What Knex asks of a query, and where it leaves the answer. */
interface Query {
  readonly sql: string;
  readonly bindings?: unknown[];
  response?: object;
}

const PostgresClient = createRequire(import.meta.url)('knex/lib/dialects/postgres/index.js') as new (
  config: Knex.Config,
) => object;

/** Knex on PostgreSQL in this process, with one connection. */
export function knexOnPglite(): Knex {
  const pglite = new PGlite();
  class PgliteClient extends PostgresClient {
    _driver(): object {
      return {};
    }

    async acquireRawConnection(): Promise<object> {
      await pglite.waitReady;
      return pglite;
    }

    async destroyRawConnection(): Promise<void> {
      await pglite.close();
    }

    async _query(_: object, query: Query): Promise<Query> {
      const { rows, affectedRows } = await pglite.query<object>(query.sql, query.bindings ?? []);
      query.response = { rows, rowCount: affectedRows, command: query.sql.split(' ', 1)[0]?.toUpperCase() };
      return query;
    }
  }
  return knex({ client: PgliteClient as unknown as typeof Knex.Client, connection: {}, pool: { min: 1, max: 1 } });
}

/** Makes the tables of an outbox. */
export async function makeTables(database: Knex): Promise<void> {
  for (const statement of outboxDdl('postgres').split(/;$/m)) {
    if (statement.trim() !== '') await database.raw(statement);
  }
}
