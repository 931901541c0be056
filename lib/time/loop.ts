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
  #run: Promise<void> | undefined;
  #again = false;
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
    await this.#run;
  }

  /** Does the same, for callers that need not know when it ends. */
  poke(): void {
    if (this.#running) this.#again = true;
    else if (!this.#stopped) {
      this.#running = true;
      this.#run = this.#runAll();
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
    await this.#run;
  }

  /** Begins no further run; resolves once the one under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#disarm();
    await this.#run;
  }

  /** Never rejects. */
  async #runAll(): Promise<void> {
    const { run, gather = false } = this.#options;
    this.#disarm();
    if (gather) await new Promise((resolve) => setImmediate(resolve));
    let delay: number | void = undefined;
    do {
      this.#again = false;
      if (!this.#stopped) delay = await run();
    } while (this.#again && !this.#stopped);
    this.#running = false;
    if (delay !== undefined) this.later(delay);
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAt = Infinity;
  }
}
