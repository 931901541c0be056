import { describe } from '../../checks/describe.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import type { OutboxDialect } from './outbox-adapter.interface.js';

export const DEFAULT_TABLE = 'delay_queue_outbox';

export const DEFAULT_INBOX_TABLE = 'delay_queue_inbox';

/** A name, or a schema and a name. PostgreSQL takes at most 63 bytes, and `_shards` is appended. */
const NAME = /^(?:[A-Za-z_]\w{0,62}\.)?[A-Za-z_]\w{0,54}$/;

/** The tables of an outbox and its inbox as statements write them. */
export interface TableNames {
  readonly rows: string;
  readonly shards: string;
  readonly inbox: string;
  /** Names of indexes. */
  readonly index: { readonly shard: string; readonly message: string; readonly touched: string };
}

/** Names as they are given. */
export interface GivenNames {
  readonly table?: string | undefined;
  readonly inboxTable?: string | undefined;
}

/**
 * Quotes the names. In PostgreSQL a name without a schema is in `public`: the search path of a connection may be another one for each
 * tenant.
 *
 * @throws ConfigurationError if one is not the name of a table
 */
export function tableNames(
  dialect: OutboxDialect,
  { table = DEFAULT_TABLE, inboxTable = DEFAULT_INBOX_TABLE }: GivenNames = {},
): TableNames {
  assertName('table', table);
  assertName('inboxTable', inboxTable);
  const mark = dialect === 'mysql' ? '`' : '"';
  const quoted = (name: string): string => name.replaceAll(/\w+/g, (part) => mark + part + mark);
  const path = (name: string): string => quoted(name.includes('.') || dialect === 'mysql' ? name : `public.${name}`);
  const index = (name: string, on: string): string => quoted(`${name.slice(name.lastIndexOf('.') + 1)}_${on}`);
  return {
    rows: path(table),
    shards: path(`${table}_shards`),
    inbox: path(inboxTable),
    index: { shard: index(table, 'shard'), message: index(table, 'message'), touched: index(inboxTable, 'touched') },
  };
}

function assertName(option: string, name: unknown): void {
  if (typeof name === 'string' && NAME.test(name)) return;
  throw new ConfigurationError(
    `${option} must be the name of a table, with its schema or without, of letters, digits and underscores. Given: ${describe(name)}.`,
  );
}
