import type { DelayQueueAdminOptions } from '../index.js';
import { hostname, userInfo } from 'node:os';
import { hasProcessServer } from '../engines/embedded/process-server.js';
import { loadIoRedis } from '../engines/redis/connection/redis-clients.js';
import { RedisConnection } from '../engines/redis/connection/redis-connection.js';
import { assertRedis, isEmbedded } from '../composition/redis-option.js';
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

/** Text for a Redis that has ended in the meantime. */
const UNKNOWN_PREFIX = { message: 'Nothing is stored under this prefix.', advice: '' };

/** The queues of a prefix, with the parts that commands work with. */
export type Queues = Pick<
  DelayQueueConnection,
  'admin' | 'producer' | 'schedules' | 'events' | 'broker' | 'backend' | 'redis' | 'options'
>;

/** A question before something that cannot be undone. */
export interface Confirmation {
  /** Text that has to be typed, and its name, such as `the name of the topic`. */
  readonly type: string;
  readonly called: string;
  /** Effect that has to be confirmed, as a sentence. */
  readonly what: string;
  /** Whether the command can say what it would do, and do nothing. */
  readonly hasDryRun: boolean;
}

/** Context of commands: the options that all of them have, the connection, and the user who typed them. */
export class Cli {
  readonly terminal: Terminal;
  /** Exit code of the process if nothing is thrown. */
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

  /** Colours of notes beside the results. */
  get notePaint(): Paint {
    return paintFor(this.terminal.stderr, this.#options().color);
  }

  /** Characters per line; `undefined`: the output is not a terminal. */
  get width(): number | undefined {
    return this.terminal.stdout.isTTY ? this.terminal.stdout.columns : undefined;
  }

  get prefix(): string {
    return this.#options().prefix ?? this.#env('DELAY_QUEUE_PREFIX') ?? 'dq';
  }

  /** Name of the user, for the audit log. */
  get actor(): string {
    return this.#options().actor ?? this.#env('DELAY_QUEUE_ACTOR') ?? `${userName()}@${hostname()}`;
  }

  /** Options to reach Redis. */
  get connectionOptions(): DelayQueueAdminOptions {
    const options = this.ownConnectionOptions;
    if (isEmbedded(options.redis) && !hasProcessServer()) throw usageError(ELSEWHERE);
    return options;
  }

  /** The same for commands that can keep messages themselves. */
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

  /** Connects, works, and disconnects. It reports trouble on the way once it works; `doctor` says what a boot would warn of. */
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
   * Does the same with a Redis that another program uses.
   *
   * @param given in the form of `--redis`; `undefined`: the Redis of the queues
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
   * @param lines its form for people
   */
  print(value: unknown, lines: () => readonly string[]): void {
    const text = this.isJson ? toJson(value) : lines().join('\n');
    if (text !== '') say(this.terminal.stdout, `${text}\n`, this.#options().color);
  }

  /** Writes a note beside the results, to the standard error. */
  note(text: string): void {
    say(this.terminal.stderr, `${text}\n`, this.#options().color);
  }

  /** Prints a negative result: the exit code of the process says so. */
  refuse(value: unknown, reason: string): void {
    this.exitCode = EXIT.no;
    if (this.isJson) this.print(value, () => []);
    else this.note(reason);
  }

  /**
   * Continues only if the user types the name of what is meant, or gave `--yes`.
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
   * Lets Ctrl-C, SIGTERM and the end of the terminal (SIGHUP) end long work in order. A second one of the first two ends the process at once.
   *
   * @param work ends soon after its signal aborts
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

  /** @throws CliError if the topic was never used; it names the topic that was probably meant */
  async assertKnown({ admin }: Queues, topic: string): Promise<void> {
    const topics = await admin.topics();
    if (topics.includes(topic)) return;
    throw notFound(
      `Topic '${shown(topic)}' was never used under the prefix '${this.prefix}'.${didYouMean(topic, topics)}`,
    );
  }

  /**
   * Call this when there is nothing to show: if nothing at all is stored under the prefix, it says so, and what was probably meant, and the
   * exit code becomes a no.
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

/** Returns the name of the user, which a container may not have. */
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
