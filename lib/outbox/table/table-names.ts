import { describe } from '../../checks/describe.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import type { OutboxDialect } from './outbox-adapter.interface.js';

export const DEFAULT_TABLE = 'delay_queue_outbox';

/** A name, or a schema and a name. PostgreSQL takes at most 63 bytes, and `_shards` is appended. */
const NAME = /^(?:[A-Za-z_]\w{0,62}\.)?[A-Za-z_]\w{0,54}$/;

/** The tables of an outbox as statements write them. */
export interface TableNames {
  readonly rows: string;
  readonly shards: string;
  /** Names of the indexes of {@link rows}. */
  readonly index: { readonly shard: string; readonly message: string };
}

/**
 * Quotes the names. In PostgreSQL a name without a schema is in `public`: the search path of a connection may be another one for each
 * tenant.
 *
 * @throws ConfigurationError if that is not the name of a table
 */
export function tableNames(dialect: OutboxDialect, table: string = DEFAULT_TABLE): TableNames {
  if (typeof table !== 'string' || !NAME.test(table)) {
    throw new ConfigurationError(
      `table must be the name of a table, with its schema or without, of letters, digits and underscores. Given: ${describe(table)}.`,
    );
  }
  const mark = dialect === 'mysql' ? '`' : '"';
  const path = table.includes('.') || dialect === 'mysql' ? table : `public.${table}`;
  const quoted = (name: string): string => name.replaceAll(/\w+/g, (part) => mark + part + mark);
  const last = path.slice(path.lastIndexOf('.') + 1);
  return {
    rows: quoted(path),
    shards: quoted(`${path}_shards`),
    index: { shard: quoted(`${last}_shard`), message: quoted(`${last}_message`) },
  };
}
