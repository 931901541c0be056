import { placesOf, type Cells, numberOf, type Query, type Statements } from '../table/statements.js';
import { type InboxEntry, NEW_ENTRY } from './inbox-entry.js';

/** Most entries of one statement. */
const MOST_ENTRIES = 500;

/** Most entries that one statement of the cleaning removes. */
const MOST_REMOVED = 1000;

/** A message by name. */
export interface InboxRef {
  readonly topic: string;
  readonly id: string;
  readonly key: string;
}

const KEY = 'message_id, topic, message_key';
const STATE = 'published, handled, changed, due_at';

/** The statements about the table of an inbox. */
export class InboxTable {
  readonly #statements: Statements;
  readonly #name: string;

  /** @param name as statements write it */
  constructor(statements: Statements, name: string) {
    this.#statements = statements;
    this.#name = name;
  }

  /**
   * Changes entries, each of which stays locked until the transaction ends.
   *
   * @param change returns an entry as it is to be; `undefined` to leave it
   */
  async change<R extends InboxRef>(
    transaction: Query,
    refs: readonly R[],
    change: (entry: InboxEntry, ref: R) => InboxEntry | undefined,
  ): Promise<void> {
    // In one order, so that two transactions do not wait for each other; and a statement may not change an entry twice.
    const byName = new Map(refs.map((ref) => [nameOf(ref), ref]));
    const names = [...byName.keys()].toSorted();
    for (let from = 0; from < names.length; from += MOST_ENTRIES) {
      const some = names.slice(from, from + MOST_ENTRIES).map((name) => byName.get(name) as R);
      const entries = await this.#lock(transaction, some);
      const changed = some.flatMap((ref) => {
        const entry = change(entries.get(nameOf(ref)) ?? NEW_ENTRY, ref);
        return entry ? [{ ref, entry }] : [];
      });
      if (changed.length > 0) await this.#write(transaction, changed);
    }
  }

  /** Notes that the message of a publish was handled. */
  async handled(transaction: Query, { id, topic, key }: InboxRef, publishedAt: number): Promise<void> {
    const { now } = this.#statements;
    await this.#statements.query(
      `UPDATE ${this.#name} SET handled = ${publishedAt}, touched_at = ${now} WHERE message_id = ? AND topic = ? AND message_key = ?`,
      [id, topic, key],
      transaction,
    );
  }

  /** Returns the key of the message with an id that was published last; `undefined` if none is known. */
  async keyOf(transaction: Query, topic: string, id: string): Promise<string | undefined> {
    const sql = `SELECT message_key FROM ${this.#name} WHERE message_id = ? AND topic = ? ORDER BY published DESC LIMIT 1`;
    const [row] = await this.#statements.query(sql, [id, topic], transaction);
    return row && String(row['message_key']);
  }

  /** Returns the topics that have an inbox. */
  async topics(): Promise<string[]> {
    const rows = await this.#statements.query(`SELECT topic FROM ${this.#name} WHERE message_id = ''`);
    return rows.map((row) => String(row['topic']));
  }

  /** Notes that topics have an inbox. As long as that is noted anew, {@link clean} leaves it. */
  async announce(topics: readonly string[]): Promise<void> {
    const { now } = this.#statements;
    if (topics.length === 0) return;
    const rows = topics.map(() => `('', ?, '', ${now})`).join(', ');
    await this.#statements.query(
      `INSERT INTO ${this.#name} (${KEY}, touched_at) VALUES ${rows} ${this.#onConflict(['touched_at'])}`,
      topics.toSorted(),
    );
  }

  /**
   * Removes some entries that nobody has touched for that many milliseconds.
   *
   * @returns whether there are more
   */
  async clean(age: number): Promise<boolean> {
    const { now, dialect } = this.#statements;
    const old = `touched_at < ${now} - ${age}`;
    const first = `${old} ORDER BY touched_at LIMIT ${MOST_REMOVED}`;
    const rows =
      dialect === 'mysql'
        ? first
        : `(${KEY}) IN (SELECT ${KEY} FROM ${this.#name} WHERE ${first} FOR UPDATE SKIP LOCKED)`;
    await this.#statements.query(`DELETE FROM ${this.#name} WHERE ${rows}`);
    return (await this.#statements.query(`SELECT 1 FROM ${this.#name} WHERE ${old} LIMIT 1`)).length > 0;
  }

  /** Locks entries, makes those that are missing, and reads them as the latest commit has left them. */
  async #lock(transaction: Query, refs: readonly InboxRef[]): Promise<Map<string, InboxEntry>> {
    const { dialect, now } = this.#statements;
    const parameters = refs.flatMap(({ id, topic, key }) => [id, topic, key]);
    const places = refs.map(() => `(?, ?, ?, ${now})`).join(', ');
    const insert = `INSERT INTO ${this.#name} (${KEY}, touched_at) VALUES ${places} ${this.#onConflict(['touched_at'])}`;
    const query = async (sql: string): Promise<readonly Cells[]> =>
      this.#statements.query(sql, parameters, transaction);
    let rows: readonly Cells[];
    if (dialect === 'mysql') {
      await query(insert);
      rows = await query(
        `SELECT ${KEY}, ${STATE} FROM ${this.#name} WHERE (${KEY}) IN (${placesOf(refs.length, 3)}) FOR UPDATE`,
      );
    } else {
      rows = await query(`${insert} RETURNING ${KEY}, ${STATE}`);
    }
    return new Map(rows.map((row) => [nameOf(refOf(row)), entryOf(row)]));
  }

  async #write(
    transaction: Query,
    changed: readonly { readonly ref: InboxRef; readonly entry: InboxEntry }[],
  ): Promise<void> {
    const places = changed.map(() => `(?, ?, ?, ?, ?, ?, ?, ${this.#statements.now})`).join(', ');
    const update = this.#onConflict([...STATE.split(', '), 'touched_at']);
    await this.#statements.query(
      `INSERT INTO ${this.#name} (${KEY}, ${STATE}, touched_at) VALUES ${places} ${update}`,
      changed.flatMap(({ ref: { id, topic, key }, entry: { published, handled, changed: until, dueAt } }) => [
        id,
        topic,
        key,
        published,
        handled ?? null,
        until ?? null,
        dueAt ?? null,
      ]),
      transaction,
    );
  }

  /** Takes columns of the new row over into an older one. */
  #onConflict(columns: readonly string[]): string {
    if (this.#statements.dialect === 'mysql') {
      return `ON DUPLICATE KEY UPDATE ${columns.map((column) => `${column} = VALUES(${column})`).join(', ')}`;
    }
    return `ON CONFLICT (${KEY}) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`;
  }
}

function refOf(row: Cells): InboxRef {
  return { topic: String(row['topic']), id: String(row['message_id']), key: String(row['message_key']) };
}

function entryOf(row: Cells): InboxEntry {
  return {
    published: Number(row['published']),
    handled: numberOf(row['handled']),
    changed: numberOf(row['changed']),
    dueAt: numberOf(row['due_at']),
  };
}

function nameOf({ topic, id, key }: InboxRef): string {
  return JSON.stringify([id, topic, key]);
}
