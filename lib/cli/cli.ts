import type { DelayQueueAdminOptions } from '../index.js';
import { hostname, userInfo } from 'node:os';
import { hasProcessServer } from '../engines/embedded/process-server.js';
import { loadIoRedis } from '../engines/redis/connection/redis-clients.js';
import { RedisConnection } from '../engines/redis/connection/redis-connection.js';
import { assertRedis, isEmbedded } from '../composition/assert-redis.js';
import { openConnection } from '../composition/create-delay-queue-admin.js';
import type { DelayQueueConnection } from '../composition/delay-queue.connection.js';
import { didYouMean } from '../checks/nearest.js';
import { parseDuration } from '../time/duration.js';
import type { Log } from '../log.js';
import { CliError, notFound, usageError } from './cli-error.js';
import { EXIT, type ExitCode } from './exit-codes.js';
import { toJson } from './json.js';
import { type Paint, paintFor, say } from './paint.js';
import { readRedis } from './given-values.js';
import type { GlobalOptions } from './program.js';
import { type Terminal, ask, isInteractive } from './terminal.js';
import { shown, shownLines } from './text.js';

const ELSEWHERE =
  "What redis: 'embedded:' keeps is in the memory of the process that uses it, and this is another one. Open the dashboard of that " +
  'process, or give both a Redis.';

/** What is told if Redis has ended meanwhile. */
const UNKNOWN_PREFIX = { message: 'Nothing is stored under this prefix.', advice: '' };

/** The queues of a prefix, as far as a command works with them. */
export type Queues = Pick<
  DelayQueueConnection,
  'admin' | 'producer' | 'schedules' | 'events' | 'broker' | 'backend' | 'redis' | 'options'
>;

/** What is asked before something that cannot be undone. */
export interface Confirmation {
  /** What has to be typed, and what it is, such as `the name of the topic`. */
  readonly type: string;
  readonly called: string;
  /** What would be done, as a sentence. */
  readonly what: string;
  /** Whether the command can tell what it would do, and do nothing. */
  readonly hasDryRun: boolean;
}

/** What commands work with: the options that all of them have, the connection, and the one who typed it. */
export class Cli {
  readonly terminal: Terminal;
  /** What the process ends with if nothing is thrown. */
  exitCode: ExitCode = EXIT.done;
  readonly #options: () => GlobalOptions;
  #tellsTrouble = false;

  constructor(terminal: Terminal, options: () => GlobalOptions) {
    this.terminal = terminal;
    this.#options = options;
  }

  /** Whether results are printed as JSON. */
  get isJson(): boolean {
    return this.#options().json === true;
  }

  get paint(): Paint {
    return paintFor(this.terminal.stdout, this.#options().color);
  }

  /** For what is said beside the results. */
  get notePaint(): Paint {
    return paintFor(this.terminal.stderr, this.#options().color);
  }

  /** Characters of a line; `undefined`: nobody reads it on a terminal. */
  get width(): number | undefined {
    return this.terminal.stdout.isTTY ? this.terminal.stdout.columns : undefined;
  }

  get prefix(): string {
    return this.#options().prefix ?? this.#env('DELAY_QUEUE_PREFIX') ?? 'dq';
  }

  /** Who acts, for the audit log. */
  get actor(): string {
    return this.#options().actor ?? this.#env('DELAY_QUEUE_ACTOR') ?? `${userName()}@${hostname()}`;
  }

  /** How to reach Redis. */
  get connectionOptions(): DelayQueueAdminOptions {
    const options = this.ownConnectionOptions;
    if (isEmbedded(options.redis) && !hasProcessServer()) throw usageError(ELSEWHERE);
    return options;
  }

  /** The same for what may keep messages itself. */
  get ownConnectionOptions(): DelayQueueAdminOptions {
    const { redis, redisTimeout: timeout } = this.#options();
    const given = redis ?? this.#env('DELAY_QUEUE_REDIS') ?? this.#env('REDIS_URL');
    const settings = given === undefined ? undefined : readRedis(given);
    return {
      ...(settings !== undefined && { redis: settings }),
      prefix: this.prefix,
      timeout: parseDuration('--redis-timeout', timeout, { min: 1 }),
      log: this.#log,
    };
  }

  /** Connects, works, and disconnects. Trouble on the way is told once it works; what a boot would warn of, `doctor` says. */
  async open<T>(work: (queues: Queues) => Promise<T>): Promise<T> {
    const connection = await openConnection('nestjs-delay-queue', this.connectionOptions);
    try {
      await connection.broker.connect();
      this.#tellsTrouble = true;
      return await work(connection);
    } finally {
      this.#tellsTrouble = false;
      await connection.close();
    }
  }

  /**
   * The same with a Redis that another program uses.
   *
   * @param given as `--redis`; `undefined`: the one of the queues
   */
  async openOther<T>(
    { options }: Queues,
    given: string | undefined,
    work: (connection: RedisConnection) => Promise<T>,
  ): Promise<T> {
    const settings = given === undefined ? options.redis : readRedis(given);
    assertRedis(settings);
    if (isEmbedded(settings)) throw usageError(ELSEWHERE);
    const connection = new RedisConnection(await loadIoRedis(), settings, this.#log, options.publishTimeout);
    try {
      await connection.connect();
      return await work(connection);
    } finally {
      connection.close();
    }
  }

  /**
   * Prints a result.
   *
   * @param value its form in JSON
   * @param lines what people get
   */
  print(value: unknown, lines: () => readonly string[]): void {
    const text = this.isJson ? toJson(value) : lines().join('\n');
    if (text !== '') say(this.terminal.stdout, `${text}\n`, this.#options().color);
  }

  /** Says something beside the results, on the standard error. */
  note(text: string): void {
    say(this.terminal.stderr, `${text}\n`, this.#options().color);
  }

  /** Prints a result that is a no: the process says so as it ends. */
  refuse(value: unknown, reason: string): void {
    this.exitCode = EXIT.no;
    if (this.isJson) this.print(value, () => []);
    else this.note(reason);
  }

  /**
   * Goes on only if the name of what is meant is typed, or `--yes` was given.
   *
   * @throws CliError
   */
  async confirm({ type, called, what, hasDryRun }: Confirmation): Promise<void> {
    if (this.#options().yes) return;
    if (!isInteractive(this.terminal)) {
      const orCount = hasDryRun ? ', or with --dry-run to count' : '';
      throw unconfirmed(
        `${what} There is no terminal to ask on, so nothing was changed: repeat it with --yes${orCount}.`,
      );
    }
    const answer = await ask(this.terminal, `${shownLines(what)}\nType ${called} to go on: `);
    if (answer?.trim() !== type) throw unconfirmed(`That is not ${called}. Nothing was changed.`);
  }

  /**
   * Lets Ctrl-C, SIGTERM and the end of the terminal (SIGHUP) end a long work in order. A second one of the first two ends the process
   * at once.
   *
   * @param work ends soon when the signal is aborted
   */
  async interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const interrupt = (): void => controller.abort();
    // When a terminal is closed, both the system and the shell say so.
    process.once('SIGINT', interrupt).once('SIGTERM', interrupt).on('SIGHUP', interrupt);
    try {
      return await work(controller.signal);
    } finally {
      process.off('SIGINT', interrupt).off('SIGTERM', interrupt).off('SIGHUP', interrupt);
    }
  }

  /** @throws CliError if the topic was never used, with the one that was probably meant */
  async assertKnown({ admin }: Queues, topic: string): Promise<void> {
    const topics = await admin.topics();
    if (topics.includes(topic)) return;
    throw notFound(
      `Topic '${shown(topic)}' was never used under the prefix '${this.prefix}'.${didYouMean(topic, topics)}`,
    );
  }

  /**
   * To be called when there is nothing to show: if nothing at all is stored under the prefix, it says so, and what was probably meant, and the
   * process ends with a no.
   */
  async tellEmpty({ admin }: Queues): Promise<void> {
    if ((await admin.topics()).length > 0) return;
    this.exitCode = EXIT.no;
    const { findings } = await admin.doctor();
    const [{ message, advice } = UNKNOWN_PREFIX] = findings.filter(({ check }) => check === 'prefix');
    this.note(`${this.notePaint('yellow', 'no topics:')} ${shown(message)} ${shown(advice)}`.trim());
  }

  get #log(): Log {
    const tell = (text: string): void => {
      if (this.#tellsTrouble) this.note(text);
    };
    return { log: tell, warn: tell, error: tell };
  }

  #env(name: string): string | undefined {
    return this.terminal.env[name] || undefined;
  }
}

/** A container may run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}

function unconfirmed(message: string): CliError {
  return new CliError(EXIT.unconfirmed, 'NOT_CONFIRMED', message);
}
