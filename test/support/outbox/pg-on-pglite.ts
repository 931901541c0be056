import { PGlite } from '@electric-sql/pglite';
import { outboxDdl } from '../../../lib/outbox/table/ddl.js';

interface Result {
  readonly rows: object[];
  readonly rowCount: number;
  readonly command: string;
}

/** A connection, as `pg` has it. */
class Client {
  readonly #pglite: PGlite;
  readonly release: () => void;

  constructor(pglite: PGlite, release: () => void) {
    this.#pglite = pglite;
    this.release = release;
  }

  on(): this {
    return this;
  }

  removeListener(): this {
    return this;
  }

  async query(sql: string, parameters: readonly unknown[] = []): Promise<Result> {
    const { rows, affectedRows } = await this.#pglite.query<object>(sql, [...parameters]);
    const [command = ''] = sql.trimStart().split(/\s/, 1);
    return { rows, rowCount: affectedRows ?? 0, command: command.toUpperCase() };
  }
}

type Connected = (error: undefined, client: Client, release: () => void) => void;

/** PostgreSQL in this process as a pool of `pg`, with one connection. */
export class PglitePool {
  readonly #pglite = new PGlite();
  #isTaken = false;
  readonly #waiting: (() => void)[] = [];

  on(): this {
    return this;
  }

  removeListener(): this {
    return this;
  }

  connect(): Promise<Client>;
  connect(connected: Connected): void;
  connect(connected?: Connected): Promise<Client> | void {
    if (!connected) return this.#take();
    void this.#take().then((client) => connected(undefined, client, client.release));
  }

  async end(ended?: () => void): Promise<void> {
    await this.#pglite.close();
    ended?.();
  }

  /** Makes the tables of an outbox. */
  async makeTables(): Promise<void> {
    await this.#pglite.exec(outboxDdl('postgres'));
  }

  async #take(): Promise<Client> {
    while (this.#isTaken) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#isTaken = true;
    let isReleased = false;
    return new Client(this.#pglite, () => {
      if (isReleased) return;
      isReleased = true;
      this.#isTaken = false;
      this.#waiting.shift()?.();
    });
  }
}
