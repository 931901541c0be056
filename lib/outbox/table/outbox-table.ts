import { ConfigurationError } from '../../errors/options.errors.js';
import type { NewRow, OutboxRow } from './outbox-row.js';
import { CANCEL, PUBLISH, RESCHEDULE } from './outbox-row.js';
import type { OutboxValue } from './outbox-adapter.interface.js';
import { type Cells, numberOf, placesOf, type Query, type Statements, textOf } from './statements.js';
import type { TableNames } from './table-names.js';

/** Most rows of one statement: PostgreSQL takes 65,535 parameters, and a row has seven. */
const MOST_INSERTED = 500;

/** Longest text of an error that is kept, in characters. */
const MAX_ERROR = 1000;

const COLUMNS = 'seq, shard, kind, topic, message_key, message_id, due_at, body';

/** Most rows of a batch: as many as one call to Redis takes, since a call that had to be split would have other names. */
const MOST_ROWS = 200;

/** Most characters of a batch, unless one row has more. */
const MOST_CHARACTERS = 500_000;

/** Name of a batch. */
export interface BatchName {
  /** Caller of the calls to Redis. */
  readonly caller: string;
  readonly sequence: number;
}

/** Rows under one name: however often they are sent, Redis does once what they ask for. */
export interface Batch extends BatchName {
  readonly rows: readonly OutboxRow[];
}

/** A shard as the table has it. */
export interface ShardState {
  readonly shard: number;
  readonly owner: string | undefined;
  readonly epoch: string;
  /** Whether its lease has ended, so that it can be taken. */
  readonly isFree: boolean;
  /** Batch that was recorded last. */
  readonly batch: BatchName & { readonly seqs: readonly string[] };
}

/** A shard as its owner has taken it. */
export type HeldShard = Pick<ShardState, 'shard' | 'epoch'> & { readonly owner: string };

/**
 * The statements about the tables of an outbox. Each that the relay makes is a transaction of its own, and changes nothing if another
 * process has taken the shard since: so a relay that was paused does no harm.
 */
export class OutboxTable {
  readonly #statements: Statements;
  readonly #names: Pick<TableNames, 'rows' | 'shards'>;
  /** 0 until it is known. */
  #shardCount = 0;

  /** @param names as statements write them */
  constructor(statements: Statements, names: Pick<TableNames, 'rows' | 'shards'>) {
    this.#statements = statements;
    this.#names = names;
  }

  /**
   * Returns the number of shards, which never changes; the first call asks for it.
   *
   * @throws ConfigurationError if there are none, or any error of the database
   */
  async shardCount(by?: Query): Promise<number> {
    if (this.#shardCount === 0) {
      const [row] = await this.#statements.query(`SELECT count(*) AS count FROM ${this.#names.shards}`, [], by);
      this.#shardCount = Number(row?.['count']);
    }
    if (this.#shardCount > 0) return this.#shardCount;
    throw new ConfigurationError(
      `Table ${this.#names.shards} of the outbox is empty: fill it with the statements that make it.`,
    );
  }

  /** Writes rows within a transaction. */
  async insert(transaction: Query, rows: readonly NewRow[]): Promise<void> {
    for (let from = 0; from < rows.length; from += MOST_INSERTED) {
      const some = rows.slice(from, from + MOST_INSERTED);
      await this.#statements.query(
        `INSERT INTO ${this.#names.rows} (shard, kind, topic, message_key, message_id, due_at, body) VALUES ${placesOf(some.length, 7)}`,
        some.flatMap(({ shard, kind, topic, key, id, dueAt, body }) => [
          shard,
          kind,
          topic,
          key ?? null,
          id,
          dueAt ?? null,
          body ?? null,
        ]),
        transaction,
      );
    }
  }

  /** Returns the key of the message with an id that was published last and that a transaction sees; `undefined` if there is none. */
  async keyOf(transaction: Query, topic: string, id: string): Promise<string | undefined> {
    const [row] = await this.#statements.query(
      `SELECT message_key FROM ${this.#names.rows} WHERE topic = ? AND message_id = ? AND kind = ${PUBLISH} ORDER BY seq DESC LIMIT 1`,
      [topic, id],
      transaction,
    );
    return textOf(row?.['message_key']);
  }

  /** Returns all shards, in their order. */
  async shards(): Promise<ShardState[]> {
    const rows = await this.#statements.query(
      `SELECT shard, owner, epoch, caller, sequence, batch, CASE WHEN lease_until < ${this.#statements.now} THEN 1 ELSE 0 END AS is_free ` +
        `FROM ${this.#names.shards} ORDER BY shard`,
    );
    return rows.map((row) => ({
      shard: Number(row['shard']),
      owner: textOf(row['owner']),
      epoch: String(row['epoch']),
      isFree: Number(row['is_free']) === 1,
      batch: {
        caller: textOf(row['caller']) ?? '',
        sequence: Number(row['sequence']),
        seqs: (textOf(row['batch']) ?? '').split(',').filter(Boolean),
      },
    }));
  }

  /** Takes a shard, unless another process has done so since this state was seen. {@link shards} tells. */
  async take({ shard, epoch }: ShardState, owner: string, lease: number): Promise<void> {
    await this.#statements.query(
      `UPDATE ${this.#names.shards} SET owner = ?, epoch = epoch + 1, lease_until = ${this.#statements.now} + ${lease} ` +
        `WHERE shard = ? AND epoch = ${digits(epoch)} AND lease_until < ${this.#statements.now}`,
      [owner, shard],
    );
  }

  /** Begins the leases of all shards of an owner anew. */
  async renew(owner: string, lease: number): Promise<void> {
    await this.#statements.query(
      `UPDATE ${this.#names.shards} SET lease_until = ${this.#statements.now} + ${lease} WHERE owner = ?`,
      [owner],
    );
  }

  async release(owner: string): Promise<void> {
    await this.#statements.query(`UPDATE ${this.#names.shards} SET lease_until = 0 WHERE owner = ?`, [owner]);
  }

  /** Returns those rows that are still in the shard. */
  async rowsOf(shard: number, seqs: readonly string[]): Promise<OutboxRow[]> {
    if (seqs.length === 0) return [];
    return this.#rows(`shard = ? AND seq IN (${seqs.map(digits).join(', ')}) ORDER BY seq`, [shard]);
  }

  /**
   * Returns the cancels and reschedules behind messages of a shard, in their order.
   *
   * @param rows publishes of the shard, at least one
   */
  async changesOf(shard: number, rows: readonly OutboxRow[]): Promise<OutboxRow[]> {
    const parameters: OutboxValue[] = [shard];
    const topics = new Map<string, OutboxRow[]>();
    for (const row of rows) topics.set(row.topic, [...(topics.get(row.topic) ?? []), row]);
    const conditions = Array.from(topics, ([topic, some]) => {
      parameters.push(topic, ...some.map(({ id }) => id));
      return `topic = ? AND message_id IN (${some.map(() => '?').join(', ')})`;
    });
    return this.#rows(
      `shard = ? AND kind IN (${CANCEL}, ${RESCHEDULE}) AND (${conditions.join(' OR ')}) ORDER BY seq`,
      parameters,
    );
  }

  /**
   * Removes rows that Redis has confirmed, and records the first of those that are visible by now as the next batch, before anything of it is
   * sent. Begins the lease anew if there are any.
   *
   * PostgreSQL does so in one statement, whose parts see the table as it was before. MySQL takes several, and another process must not find the
   * next batch recorded while rows of the one before are left: it would take those for new.
   *
   * @param done rows of the batch before, until this has resolved
   * @returns recorded rows; `undefined` if the shard does not belong to its owner any more
   */
  async advance(
    held: HeldShard,
    done: readonly OutboxRow[],
    name: BatchName,
    lease: number,
  ): Promise<OutboxRow[] | undefined> {
    return this.#statements.dialect === 'postgres'
      ? this.#advanceAtOnce(held, done, name, lease)
      : this.#advanceInSteps(held, done, name, lease);
  }

  async #advanceAtOnce(
    held: HeldShard,
    done: readonly OutboxRow[],
    { caller, sequence }: BatchName,
    lease: number,
  ): Promise<OutboxRow[] | undefined> {
    const { shard, owner } = held;
    const isHeld = [shard, owner];
    const gone = done.length > 0 ? `gone AS (${this.#removal(held, done)}), ` : '';
    const rows = await this.#statements.query(
      `WITH ${gone}next AS MATERIALIZED (${this.#first(shard, done)}), mine AS (` +
        `UPDATE ${this.#names.shards} SET caller = ?, sequence = ${sequence}, ` +
        `batch = (SELECT string_agg(seq::text, ',' ORDER BY seq) FROM next), lease_until = ${this.#statements.now} + ${lease} ` +
        `WHERE ${recordable(held, sequence)} AND EXISTS (SELECT 1 FROM next) RETURNING shard) ` +
        'SELECT next.*, (SELECT count(*) FROM mine) AS recorded FROM next ORDER BY seq',
      [...(done.length > 0 ? isHeld : []), caller, ...isHeld, caller],
    );
    return Number(rows[0]?.['recorded'] ?? 1) === 1 ? rows.map(toRow) : undefined;
  }

  async #advanceInSteps(
    held: HeldShard,
    done: readonly OutboxRow[],
    { caller, sequence }: BatchName,
    lease: number,
  ): Promise<OutboxRow[] | undefined> {
    const { shard, owner } = held;
    const [found] = await Promise.all([
      this.#statements.query(`${this.#first(shard, done)} ORDER BY seq`),
      this.remove(held, done),
    ]);
    if (found.length === 0) return [];
    const rows = found.map(toRow);
    await this.#statements.query(
      `UPDATE ${this.#names.shards} SET caller = ?, sequence = ${sequence}, batch = ?, lease_until = ${this.#statements.now} + ${lease} ` +
        `WHERE ${recordable(held, sequence)}`,
      [caller, rows.map(({ seq }) => seq).join(','), shard, owner, caller],
    );
    const recorded = await this.#statements.query(
      `SELECT shard FROM ${this.#names.shards} WHERE ${heldBy(held)} AND caller = ? AND sequence = ${sequence}`,
      [shard, owner, caller],
    );
    return recorded.length > 0 ? rows : undefined;
  }

  /**
   * Selects the first rows of a shard, but for some, as many as a batch may have. The bound below and the order by both columns of the index
   * let PostgreSQL walk along it: a table whose rows are short-lived has no statistics, and with `shard = 0` it would sort all that wait.
   */
  #first(shard: number, without: readonly OutboxRow[]): string {
    const others = without.length > 0 ? ` AND seq NOT IN (${seqsOf(without)})` : '';
    return (
      `SELECT * FROM (SELECT ahead.*, row_number() OVER (ORDER BY seq) AS place, sum(char_length(body)) OVER (ORDER BY seq) AS length ` +
      `FROM (SELECT ${COLUMNS} FROM ${this.#names.rows} WHERE shard >= ${shard}${others} ORDER BY shard, seq LIMIT ${MOST_ROWS}) AS ahead ` +
      `WHERE shard = ${shard}) AS counted WHERE place = 1 OR length IS NULL OR length <= ${MOST_CHARACTERS}`
    );
  }

  /** Removes rows that Redis has confirmed. */
  async remove(held: HeldShard, rows: readonly OutboxRow[]): Promise<void> {
    if (rows.length === 0) return;
    await this.#statements.query(this.#removal(held, rows), [held.shard, held.owner]);
  }

  #removal(held: HeldShard, rows: readonly OutboxRow[]): string {
    return `DELETE FROM ${this.#names.rows} WHERE seq IN (${seqsOf(rows)}) AND ${this.#isHeld(held)}`;
  }

  /** Sets a row aside that Redis refuses, so that it holds up no other. */
  async setAside(held: HeldShard, { seq, shard }: OutboxRow, error: string): Promise<void> {
    await this.#statements.query(
      `UPDATE ${this.#names.rows} SET shard = ${-1 - shard}, error = ? WHERE seq = ${digits(seq)} AND ${this.#isHeld(held)}`,
      [error.replaceAll('\0', '').slice(0, MAX_ERROR), held.shard, held.owner],
    );
  }

  #isHeld(held: HeldShard): string {
    return `EXISTS (SELECT 1 FROM ${this.#names.shards} WHERE ${heldBy(held)})`;
  }

  async #rows(condition: string, parameters: readonly OutboxValue[]): Promise<OutboxRow[]> {
    const rows = await this.#statements.query(
      `SELECT ${COLUMNS} FROM ${this.#names.rows} WHERE ${condition}`,
      parameters,
    );
    return rows.map(toRow);
  }
}

function toRow(row: Cells): OutboxRow {
  return {
    seq: String(row['seq']),
    shard: Number(row['shard']),
    kind: Number(row['kind']),
    topic: String(row['topic']),
    key: textOf(row['message_key']),
    id: String(row['message_id']),
    dueAt: numberOf(row['due_at']),
    body: textOf(row['body']),
  };
}

/** Whether a row of shards belongs to its owner. Takes shard and owner as parameters. */
function heldBy({ epoch }: HeldShard): string {
  return `shard = ? AND owner = ? AND epoch = ${digits(epoch)}`;
}

/**
 * Whether a batch can be recorded there: not over a later one of the same caller, should a statement whose connection was lost arrive after the
 * next. Takes shard, owner and caller as parameters.
 */
function recordable(held: HeldShard, sequence: number): string {
  return `${heldBy(held)} AND (caller IS NULL OR caller <> ? OR sequence < ${sequence})`;
}

function seqsOf(rows: readonly OutboxRow[]): string {
  return rows.map(({ seq }) => digits(seq)).join(', ');
}

/** Numbers that were read from the table are put into statements as they are: each library has its own way to pass many. */
function digits(number: string): string {
  if (/^\d+$/.test(number)) return number;
  throw new TypeError(`Not a number: ${number}`);
}
