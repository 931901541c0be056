import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drizzle as drizzleMysql } from 'drizzle-orm/mysql2';
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres';
import knex, { type Knex } from 'knex';
import { Kysely, MysqlDialect, PostgresDialect } from 'kysely';
import { createPool } from 'mysql2';
import mysql from 'mysql2/promise';
import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import type { Subject } from '../outbox/behaviours.js';
import { drizzleSubject, knexSubject, kyselySubject, typeOrmSubject } from '../outbox/subjects.js';
import { noteProcess } from '../processes/left-processes.js';
import { eventually } from '../waiting.js';
import { freePort } from './redis-server.js';

/** Name of the database in which tests work. */
const DATABASE = 'shop';

/** A kind of database server, as Debian installs it. */
interface Kind {
  /** Account that runs it; it refuses to run as root. */
  readonly account?: string;
  prepare(folder: string): Promise<readonly [program: string, ...args: string[]]>;
  serve(folder: string, port: number): Promise<readonly [program: string, ...args: string[]]>;
  readonly client: string;
  connection(port: number): { host: string; port: number; user: string; database?: string };
}

/** The folder of the newest PostgreSQL. */
async function postgresPrograms(): Promise<string> {
  const versions = await readdir('/usr/lib/postgresql');
  const newest = versions.map(Number).toSorted((a, b) => b - a)[0];
  return `/usr/lib/postgresql/${newest}/bin`;
}

const KINDS: Readonly<Record<'postgres' | 'mysql', Kind>> = {
  postgres: {
    account: 'postgres',
    prepare: async (folder) => [
      `${await postgresPrograms()}/initdb`,
      '-D',
      `${folder}/data`,
      '-U',
      'shop',
      '-A',
      'trust',
    ],
    serve: async (folder, port) => [
      `${await postgresPrograms()}/postgres`,
      '-D',
      `${folder}/data`,
      '-p',
      String(port),
      '-k',
      folder,
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'max_connections=200',
    ],
    client: 'pg',
    connection: (port) => ({ host: '127.0.0.1', port, user: 'shop' }),
  },
  mysql: {
    prepare: async (folder) => [
      'mariadb-install-db',
      '--no-defaults',
      `--datadir=${folder}/data`,
      '--auth-root-authentication-method=normal',
      '--user=root',
    ],
    serve: async (folder, port) => [
      'mariadbd',
      '--no-defaults',
      `--datadir=${folder}/data`,
      `--port=${port}`,
      `--socket=${folder}/socket`,
      '--user=root',
      '--bind-address=127.0.0.1',
      '--max-connections=300',
    ],
    client: 'mysql2',
    connection: (port) => ({ host: '127.0.0.1', port, user: 'root' }),
  },
};

/** A database as a library has it, until it is closed. */
export interface OpenedSubject {
  readonly subject: Subject;
  readonly close: () => Promise<void>;
}

/** A database server of a test's own, PostgreSQL or MariaDB. */
export class DatabaseServer {
  readonly #kind: Kind;
  readonly #folder: string;
  readonly #port: number;
  #server: ChildProcess | undefined;

  private constructor(kind: Kind, folder: string, port: number) {
    this.#kind = kind;
    this.#folder = folder;
    this.#port = port;
  }

  static async start(dialect: 'postgres' | 'mysql'): Promise<DatabaseServer> {
    const kind = KINDS[dialect];
    const server = new DatabaseServer(
      kind,
      // The folder of the run is closed to the account of the server.
      await mkdtemp(join(tmpdir(), 'delay-queue-database-')),
      await freePort(),
    );
    const { uid, gid } = server.#account;
    if (uid !== undefined && gid !== undefined) await chown(server.#folder, uid, gid);
    const [program, ...args] = await kind.prepare(server.#folder);
    execFileSync(program, args, { cwd: server.#folder, stdio: 'ignore', ...server.#account });
    await server.start();
    const one = server.connect(false);
    await one.raw(`CREATE DATABASE ${DATABASE}`);
    await one.destroy();
    return server;
  }

  /** Settings of Knex for the database. */
  get settings(): Knex.Config {
    return { client: this.#kind.client, connection: { ...this.#kind.connection(this.#port), database: DATABASE } };
  }

  /** @param isOurs whether to the database of the test, or to the one that is there anyway */
  connect(isOurs = true): Knex {
    // Knex tells of each connection that fails, of those to a server that was killed, too.
    const log = { warn: () => {}, error: () => {}, debug: () => {} };
    if (isOurs) return knex({ ...this.settings, log, pool: { min: 0, max: 10 } });
    const given = this.#kind.connection(this.#port);
    const connection = this.#kind.client === 'pg' ? { ...given, database: 'postgres' } : given;
    return knex({ client: this.#kind.client, log, connection });
  }

  /** Opens the database of the test by a library. */
  async open(library: 'knex' | 'kysely' | 'typeorm' | 'drizzle'): Promise<OpenedSubject> {
    const isPostgres = this.#kind.client === 'pg';
    const connection = { ...this.#kind.connection(this.#port), database: DATABASE };
    if (library === 'knex') {
      const database = this.connect();
      return { subject: knexSubject(database), close: async () => database.destroy() };
    }
    if (library === 'kysely') {
      const dialect = isPostgres
        ? new PostgresDialect({ pool: new Pool(connection) })
        : new MysqlDialect({ pool: createPool(connection) });
      const db = new Kysely<object>({ dialect });
      return { subject: kyselySubject(db, isPostgres ? 'postgres' : 'mysql'), close: async () => db.destroy() };
    }
    if (library === 'drizzle') {
      const pool = isPostgres ? new Pool(connection) : mysql.createPool(connection);
      const db = pool instanceof Pool ? drizzlePg({ client: pool }) : drizzleMysql({ client: pool });
      return {
        subject: drizzleSubject(db, isPostgres ? 'postgres' : 'mysql'),
        close: async () => pool.end(),
      };
    }
    const { user: username, ...where } = connection;
    const source = new DataSource({ type: isPostgres ? 'postgres' : 'mysql', username, ...where });
    await source.initialize();
    return { subject: typeOrmSubject(source), close: async () => source.destroy() };
  }

  /** Starts it, again after a {@link kill}; resolves once it answers. */
  async start(): Promise<void> {
    const [program, ...args] = await this.#kind.serve(this.#folder, this.#port);
    this.#server = spawn(program, args, { cwd: this.#folder, stdio: 'ignore', ...this.#account });
    noteProcess(this.#server);
    await eventually(async () => {
      const one = this.connect(false);
      await one.raw('SELECT 1').finally(() => one.destroy());
    });
  }

  /** Ends it at once, as a crash would. */
  async kill(): Promise<void> {
    const server = this.#server;
    if (server?.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #account(): { uid?: number; gid?: number } {
    const { account } = this.#kind;
    if (account === undefined || process.getuid?.() !== 0) return {};
    const idOf = (flag: string): number => Number(execFileSync('id', [flag, account], { encoding: 'utf8' }));
    return { uid: idOf('-u'), gid: idOf('-g') };
  }
}
