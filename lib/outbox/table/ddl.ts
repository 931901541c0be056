import { assertInteger } from '../../checks/validate.js';
import type { OutboxDialect } from './outbox-adapter.interface.js';
import { tableNames, type TableNames } from './table-names.js';

/** Most shards: each has relays look for its rows, and splits what they bring to Redis into smaller batches. */
export const MAX_SHARDS = 64;

/** Tables to make. */
export interface OutboxTables {
  /** Name of the outbox's, with its schema or without. @defaultValue 'delay_queue_outbox' */
  readonly table?: string | undefined;
  /** Name of the inbox's, with its schema or without. @defaultValue 'delay_queue_inbox' */
  readonly inboxTable?: string | undefined;
  /** Number of shards, each of which one process relays at a time, 1 to {@link MAX_SHARDS}. @defaultValue 1 */
  readonly shards?: number | undefined;
}

/** How a dialect writes the parts in which they differ. */
interface Wording {
  readonly id: string;
  /** Behind the type of a text that is compared, or kept as it is. */
  readonly exactly: string;
  /** Type of a text of any length. */
  readonly long: string;
  readonly now: string;
  /** Within the table of rows, behind its columns. */
  readonly keys: (names: TableNames) => string;
  /** Behind the table of rows. */
  readonly rowsEnd: (names: TableNames) => string;
  readonly shardsEnd: string;
  /** Type of a text of as many characters, in which each of them counts, spaces at the end too. */
  readonly precisely: (characters: number) => string;
  /** Within the table of the inbox, behind its columns. */
  readonly inboxKeys: (names: TableNames) => string;
  /** Behind the table of the inbox. */
  readonly inboxEnd: (names: TableNames) => string;
  /** Rows of the table of shards. */
  readonly shards: (count: number) => string;
}

const WORDING: Readonly<Record<OutboxDialect, Wording>> = {
  postgres: {
    id: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
    exactly: '',
    long: 'text',
    now: 'timestamptz NOT NULL DEFAULT clock_timestamp()',
    keys: () => '',
    rowsEnd: ({ rows, index }) => `\
 WITH (
  -- The table is nearly empty and its rows are short-lived, so a share of its size says nothing about what is dead.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000
);
CREATE INDEX ${index.shard} ON ${rows} (shard, seq);
CREATE INDEX ${index.message} ON ${rows} (topic, message_id);`,
    shardsEnd: ' WITH (fillfactor = 50);',
    precisely: (characters) => `varchar(${characters})`,
    inboxKeys: () => '',
    inboxEnd: ({ inbox, index }) => `\
 WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX ${index.touched} ON ${inbox} (touched_at);`,
    shards: (count) => `SELECT generate_series(0, ${count - 1})`,
  },
  mysql: {
    id: 'bigint NOT NULL AUTO_INCREMENT PRIMARY KEY',
    exactly: ' CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
    long: 'mediumtext',
    now: 'datetime(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)',
    keys: ({ index }) => `,
  KEY ${index.shard} (shard, seq),
  KEY ${index.message} (topic, message_id)`,
    rowsEnd: () => ' ENGINE = InnoDB;',
    shardsEnd: ' ENGINE = InnoDB;',
    // A character of an id has at most 3 bytes, or 4 for two of them.
    precisely: (characters) => `varbinary(${characters * 3})`,
    inboxKeys: ({ index }) => `,
  KEY ${index.touched} (touched_at)`,
    inboxEnd: () => ' ENGINE = InnoDB;',
    shards: (count) => `VALUES ${Array.from({ length: count }, (_, shard) => `(${shard})`).join(', ')}`,
  },
};

function ddlOf(names: TableNames, count: number, wording: Wording): string {
  const { id, exactly, long, now, keys, rowsEnd, shardsEnd, shards, precisely, inboxKeys, inboxEnd } = wording;
  return `\
-- Messages and changes that wait for the relay, which removes each once Redis has confirmed it.
CREATE TABLE ${names.rows} (
  seq ${id},
  shard smallint NOT NULL, -- below 0: set aside
  kind smallint NOT NULL, -- 1 publish, 2 cancel, 3 reschedule
  topic varchar(128)${exactly} NOT NULL,
  message_key varchar(256)${exactly},
  message_id varchar(256)${exactly} NOT NULL,
  due_at bigint, -- epoch milliseconds, on the clock of Redis
  body ${long}${exactly},
  error text${exactly},
  created_at ${now}${keys(names)}
)${rowsEnd(names)}

-- Who relays which shard, and what is on its way to Redis.
CREATE TABLE ${names.shards} (
  shard smallint PRIMARY KEY,
  owner varchar(100),
  epoch bigint NOT NULL DEFAULT 0,
  lease_until bigint NOT NULL DEFAULT 0, -- epoch milliseconds, on the clock of this database
  caller varchar(150),
  sequence bigint NOT NULL DEFAULT 0,
  batch text
)${shardsEnd}
INSERT INTO ${names.shards} (shard) ${shards(count)};

-- Which messages of topics with an inbox were handled, cancelled or moved. Times are epoch milliseconds on the clock of Redis.
CREATE TABLE ${names.inbox} (
  message_id ${precisely(256)} NOT NULL, -- empty: the topic has an inbox
  topic ${precisely(128)} NOT NULL,
  message_key ${precisely(256)} NOT NULL,
  published bigint NOT NULL DEFAULT 0,
  handled bigint,
  changed bigint,
  due_at bigint,
  touched_at bigint NOT NULL, -- epoch milliseconds, on the clock of this database
  PRIMARY KEY (message_id, topic, message_key)${inboxKeys(names)}
)${inboxEnd(names)}
`;
}

/**
 * Returns the statements that make the tables of an outbox.
 *
 * @throws InvalidArgumentError if the number of shards is out of bounds; ConfigurationError if that is not the name of a table
 */
export function outboxDdl(dialect: OutboxDialect, { shards = 1, ...names }: OutboxTables = {}): string {
  assertInteger('shards', shards, { min: 1, max: MAX_SHARDS });
  return ddlOf(tableNames(dialect, names), shards, WORDING[dialect]);
}
