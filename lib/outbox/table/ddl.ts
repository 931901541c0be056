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

const DDL: Readonly<Record<OutboxDialect, (names: TableNames, shards: number) => string>> = {
  postgres: ({ rows, shards, inbox, index }, count) => `\
-- Messages and changes that wait for the relay, which removes each once Redis has confirmed it.
CREATE TABLE ${rows} (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  shard smallint NOT NULL, -- below 0: set aside
  kind smallint NOT NULL, -- 1 publish, 2 cancel, 3 reschedule
  topic varchar(128) NOT NULL,
  message_key varchar(256),
  message_id varchar(256) NOT NULL,
  due_at bigint, -- epoch milliseconds, on the clock of Redis
  body text,
  error text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (
  -- The table is nearly empty and its rows are short-lived, so a share of its size says nothing about what is dead.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 100000
);
CREATE INDEX ${index.shard} ON ${rows} (shard, seq);
CREATE INDEX ${index.message} ON ${rows} (topic, message_id);

-- Who relays which shard, and what is on its way to Redis.
CREATE TABLE ${shards} (
  shard smallint PRIMARY KEY,
  owner varchar(100),
  epoch bigint NOT NULL DEFAULT 0,
  lease_until bigint NOT NULL DEFAULT 0, -- epoch milliseconds, on the clock of this database
  caller varchar(150),
  sequence bigint NOT NULL DEFAULT 0,
  batch text
) WITH (fillfactor = 50);
INSERT INTO ${shards} (shard) SELECT generate_series(0, ${count - 1});

-- Which messages of topics with an inbox were handled, cancelled or moved. Times are epoch milliseconds on the clock of Redis.
CREATE TABLE ${inbox} (
  message_id varchar(256) NOT NULL, -- empty: the topic has an inbox
  topic varchar(128) NOT NULL,
  message_key varchar(256) NOT NULL,
  published bigint NOT NULL DEFAULT 0,
  handled bigint,
  changed bigint,
  due_at bigint,
  touched_at bigint NOT NULL, -- epoch milliseconds, on the clock of this database
  PRIMARY KEY (message_id, topic, message_key)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX ${index.touched} ON ${inbox} (touched_at);
`,
  mysql: ({ rows, shards, inbox, index }, count) => `\
-- Messages and changes that wait for the relay, which removes each once Redis has confirmed it.
CREATE TABLE ${rows} (
  seq bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
  shard smallint NOT NULL, -- below 0: set aside
  kind smallint NOT NULL, -- 1 publish, 2 cancel, 3 reschedule
  topic varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  message_key varchar(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  message_id varchar(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  due_at bigint, -- epoch milliseconds, on the clock of Redis
  body mediumtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  error text CHARACTER SET utf8mb4,
  created_at datetime(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  KEY ${index.shard} (shard, seq),
  KEY ${index.message} (topic, message_id)
) ENGINE = InnoDB;

-- Who relays which shard, and what is on its way to Redis.
CREATE TABLE ${shards} (
  shard smallint PRIMARY KEY,
  owner varchar(100),
  epoch bigint NOT NULL DEFAULT 0,
  lease_until bigint NOT NULL DEFAULT 0, -- epoch milliseconds, on the clock of this database
  caller varchar(150),
  sequence bigint NOT NULL DEFAULT 0,
  batch text
) ENGINE = InnoDB;
INSERT INTO ${shards} (shard) VALUES ${Array.from({ length: count }, (_, shard) => `(${shard})`).join(', ')};

-- Which messages of topics with an inbox were handled, cancelled or moved. Times are epoch milliseconds on the clock of Redis.
CREATE TABLE ${inbox} (
  message_id varbinary(768) NOT NULL, -- empty: the topic has an inbox
  topic varbinary(128) NOT NULL,
  message_key varbinary(768) NOT NULL,
  published bigint NOT NULL DEFAULT 0,
  handled bigint,
  changed bigint,
  due_at bigint,
  touched_at bigint NOT NULL, -- epoch milliseconds, on the clock of this database
  PRIMARY KEY (message_id, topic, message_key),
  KEY ${index.touched} (touched_at)
) ENGINE = InnoDB;
`,
};

/**
 * Returns the statements that make the tables of an outbox.
 *
 * @throws InvalidArgumentError if the number of shards is out of bounds; ConfigurationError if that is not the name of a table
 */
export function outboxDdl(dialect: OutboxDialect, { shards = 1, ...names }: OutboxTables = {}): string {
  assertInteger('shards', shards, { min: 1, max: MAX_SHARDS });
  return DDL[dialect](tableNames(dialect, names), shards);
}
