import type { OutboxAdapter, OutboxDialect, OutboxTransaction, OutboxValue } from './outbox-adapter.interface.js';

/** Epoch milliseconds on the clock of the database. */
const NOW: Readonly<Record<OutboxDialect, string>> = {
  postgres: '(extract(epoch FROM clock_timestamp()) * 1000)::bigint',
  mysql: 'CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)',
};

/** Runs statements: a transaction, or the adapter outside of all. */
export type Query = Pick<OutboxTransaction, 'query'>;

export type Cells = Readonly<Record<string, unknown>>;

/** Runs statements that are the same in each dialect, but for what is asked for here. */
export class Statements {
  readonly dialect: OutboxDialect;
  /** Expression for epoch milliseconds on the clock of the database. */
  readonly now: string;
  readonly #adapter: OutboxAdapter;

  constructor(adapter: OutboxAdapter) {
    this.dialect = adapter.dialect;
    this.now = NOW[adapter.dialect];
    this.#adapter = adapter;
  }

  /**
   * Runs a statement; resolves with its rows.
   *
   * @param sql with `?` in place of each parameter
   * @param by outside of all transactions by default
   */
  async query(
    sql: string,
    parameters: readonly OutboxValue[] = [],
    by: Query = this.#adapter,
  ): Promise<readonly Cells[]> {
    let place = 0;
    const text = this.dialect === 'mysql' ? sql : sql.replaceAll('?', () => `$${++place}`);
    return (await by.query(text, parameters)) as readonly Cells[];
  }
}

/** Returns the text of a cell; `undefined` if it is empty. */
export function textOf(cell: unknown): string | undefined {
  return typeof cell === 'string' ? cell : undefined;
}

/** Returns the number of a cell; `undefined` if it is empty. Libraries return large numbers as text. */
export function numberOf(cell: unknown): number | undefined {
  return cell === null || cell === undefined ? undefined : Number(cell);
}

/** Returns the places of parameters: rows with a number of values each. */
export function placesOf(rows: number, values: number): string {
  const row = `(${Array.from({ length: values }, () => '?').join(', ')})`;
  return Array.from({ length: rows }, () => row).join(', ');
}
