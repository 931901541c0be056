import type { Log } from '../../../log.js';
import type { Clock, Timer } from '../../../time/clock.js';
import { isConnectionLoss, rootOf, textOf } from './redis-errors.js';

/** Time that a connection can be gone without an error before that is logged, in milliseconds: one that is made anew at once is no outage. */
const GRACE = 1000;

/** Time between two lines about one outage, in milliseconds. */
const PERIOD = 60_000;

export interface OutageLogOptions {
  readonly address: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Finds out the cause of an error that does not say it. Takes a second or two at most, and never rejects. */
  readonly explain: (error: Error | undefined) => Promise<Error | undefined>;
}

/**
 * Logs an outage by its states: one line when Redis is lost, with the cause, one a minute while it lasts, with the cause as
 * it is then, and one when it is back. Errors that alternate, and several connections that fail together, are one outage.
 */
export class OutageLog {
  readonly #options: OutageLogOptions;
  readonly #away = new Set<string>();
  #since = 0;
  /** Time of the last line; `undefined`: none about this outage. */
  #toldAt: number | undefined;
  #error: Error | undefined;
  #explained: { readonly of: Error; readonly as: Error } | undefined;
  /** Lines still to be written, in order: a line waits for its cause. */
  #lines: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  #isTelling = false;

  constructor(options: OutageLogOptions) {
    this.#options = options;
  }

  /** Latest error of the connections; `undefined` if they are there. */
  get cause(): Error | undefined {
    return this.#explained && isSame(this.#explained.of, this.#error) ? this.#explained.as : this.#error;
  }

  /** Begins to log. Until then the caller that connects for the first time gets the error. */
  start(): void {
    this.#isTelling = true;
    this.#error = undefined;
  }

  /** Call this each time a connection fails, or is closed without an error. */
  failed(connection: string, error?: Error): void {
    // An error that follows from a loss does not say what caused it.
    if (error && !(this.#error && isConnectionLoss(error))) this.#error = rootOf(error);
    if (!this.#isTelling) return;
    const now = this.#options.clock.now();
    if (this.#away.size === 0) this.#since = now;
    this.#away.add(connection);
    if (this.#toldAt === undefined ? error : now - this.#toldAt >= PERIOD) this.#tell();
    else if (this.#toldAt === undefined) this.#timer ??= this.#options.clock.setTimer(GRACE, () => this.#tell());
  }

  /** Call this when a connection is there again. */
  recovered(connection: string): void {
    if (!this.#away.delete(connection) || this.#away.size > 0) return;
    this.#stopTimer();
    this.#error = undefined;
    if (this.#toldAt === undefined) return;
    this.#toldAt = undefined;
    const { address, log } = this.#options;
    const duration = this.#duration();
    this.#write(() => log.log(`Redis at ${address} is back after ${duration}`));
  }

  close(): void {
    this.#isTelling = false;
    this.#stopTimer();
  }

  /** Resolves with the error of the connections, as soon as it is known as well as it can be. */
  async explained(): Promise<Error | undefined> {
    const error = this.#error;
    const explanation = await this.#options.explain(error);
    if (error && explanation) this.#explained = { of: error, as: explanation };
    return explanation ?? error;
  }

  #tell(): void {
    const { address, clock, log } = this.#options;
    const state = this.#toldAt === undefined ? 'is lost' : `is still away after ${this.#duration()}`;
    this.#stopTimer();
    this.#toldAt = clock.now();
    const explained = this.explained();
    this.#write(async () => log.warn(`Redis at ${address} ${state}: ${textOf((await explained) ?? CLOSED)}`));
  }

  #write(line: () => void | Promise<void>): void {
    this.#lines = this.#lines.then(() => (this.#isTelling ? line() : undefined));
  }

  #duration(): string {
    return `${((this.#options.clock.now() - this.#since) / 1000).toFixed(1)} s`;
  }

  #stopTimer(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}

const CLOSED = new Error('the connection was closed');

function isSame(one: Error, other: Error | undefined): boolean {
  return one.message === other?.message;
}
