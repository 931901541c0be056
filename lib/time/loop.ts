import type { Clock, Timer } from './clock.js';
import type { Startable } from './startable.interface.js';

export interface LoopOptions {
  readonly clock: Clock;
  /**
   * Does the work once. Neither throws nor rejects.
   *
   * @returns longest time until the next run, in milliseconds; if nothing, it waits for a request
   */
  readonly run: () => Promise<number | void> | number | void;
  /** Whether a request waits for the end of the turn of the event loop, so that all requests of one turn share one run. */
  readonly gather?: boolean;
}

/**
 * Repeats work on request, and at the time that the last run has named, one run at a time: any number of requests during a run lead to
 * exactly one more after it.
 */
export class Loop implements Startable {
  readonly #options: LoopOptions;
  #running = false;
  #again = false;
  readonly #onIdle: (() => void)[] = [];
  #timer: Timer | undefined;
  #timerAt = Infinity;
  #started = false;
  #stopped = false;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** Whether a run is under way. */
  get running(): boolean {
    return this.#running;
  }

  /** Whether it does nothing and has no run planned. */
  get resting(): boolean {
    return !this.#running && !this.#timer;
  }

  get started(): boolean {
    return this.#started;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** Runs for the first time. Resolves once that run has ended. */
  async start(): Promise<void> {
    if (this.#started) return this.idle();
    this.#started = true;
    return this.request();
  }

  /** Runs now, or once more after the run under way. Resolves once nothing runs. */
  async request(): Promise<void> {
    this.poke();
    await this.idle();
  }

  /** Does the same, for callers that need not know when it ends. */
  poke(): void {
    if (this.#running) this.#again = true;
    else if (!this.#stopped) {
      this.#running = true;
      this.#disarm();
      if (this.#options.gather) setImmediate(() => this.#run());
      else this.#run();
    }
  }

  /** Runs after `delay` milliseconds, unless it runs before. */
  later(delay: number): void {
    if (this.#stopped) return;
    const at = this.#options.clock.now() + delay;
    if (at >= this.#timerAt) return;
    this.#disarm();
    this.#timerAt = at;
    this.#timer = this.#options.clock.setTimer(delay, () => {
      this.#disarm();
      this.poke();
    });
  }

  /** Resolves once nothing runs. */
  async idle(): Promise<void> {
    if (this.#running) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  /** Begins no further run; resolves once the one under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#disarm();
    await this.idle();
  }

  /** A run that waits for nothing costs no promise. */
  #run(): void {
    this.#again = false;
    const run = this.#stopped ? undefined : this.#options.run();
    if (run instanceof Promise) void run.then((delay) => this.#ran(delay));
    else this.#ran(run);
  }

  #ran(delay: number | void): void {
    if (this.#again && !this.#stopped) return this.#run();
    this.#running = false;
    if (delay !== undefined) this.later(delay);
    if (this.#onIdle.length > 0) for (const resolve of this.#onIdle.splice(0)) resolve();
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAt = Infinity;
  }
}
