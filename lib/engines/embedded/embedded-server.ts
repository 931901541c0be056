import type { EventEntry } from '../../store/records/event-log.interface.js';
import { fromBytes } from './bytes.js';
import { EmbeddedData } from './data/embedded-data.js';
import type { Unsubscribe } from '../../store/driver.interface.js';
import type { Clock } from '../../time/clock.js';
import type { EstimatedClock } from '../../time/due-timer.js';

/** Smallest difference of the machine's clock that counts as set, in milliseconds: it is read in whole ones. */
const STEP = 2;

/**
 * Clock that data in this process goes by. It runs with the clock of the process, and follows that of the machine when that is set, or has gone
 * on while the machine slept, as the clock of a Redis server does.
 */
export class DataClock implements EstimatedClock {
  readonly #clock: Clock;
  readonly #machine: (() => number) | undefined;
  readonly #listeners = new Set<() => void>();
  #offset = 0;

  /** @param machine its time, in epoch milliseconds; `undefined`: nobody sets it */
  constructor(clock: Clock, machine?: () => number) {
    this.#clock = clock;
    this.#machine = machine;
  }

  /** Compares the clocks at each call, and so at each heartbeat. */
  now(): number {
    const local = this.#clock.now();
    if (this.#machine) this.#follow(this.#machine() - local);
    return local + this.#offset;
  }

  /** Returns the local time at a time of the data; both in epoch milliseconds. */
  toLocal(time: number): number {
    return time - this.#offset;
  }

  onStep(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #follow(offset: number): void {
    if (Math.abs(offset - this.#offset) < STEP) return;
    this.#offset = offset;
    // The listeners read this clock, perhaps just now.
    queueMicrotask(() => {
      const told = [...this.#listeners];
      for (const listener of told) listener();
    });
  }
}

// Taken when this file is loaded: tests of applications may put fake timers in the place of the global ones.
const { setImmediate } = globalThis;
const now = performance.now.bind(performance);

/** Longest time in a row until everything else of the process has its turn, in milliseconds. */
const SLICE = 5;

/**
 * Keeps the event loop going while one call follows another: none of them waits for anything outside the process, so neither timers nor sockets
 * would have a turn as long as each answer leads to another call. All time since the first call of a turn counts.
 */
export class LoopTurns {
  /** Time of the first call of this turn, in milliseconds. */
  #begunAt: number | undefined;
  #next: Promise<void> | undefined;

  /** @returns a promise that the answer has to wait for; `undefined` if there is none */
  pause(): Promise<void> | undefined {
    const time = now();
    if (this.#begunAt === undefined) {
      this.#begunAt = time;
      this.#next = new Promise((resolve) => {
        setImmediate(() => {
          this.#begunAt = undefined;
          resolve();
        });
      });
    }
    return time - this.#begunAt >= SLICE ? this.#next : undefined;
  }
}

/** Listeners, by what they listen to. They are called a moment later, as over a connection. */
class Listeners<T> {
  readonly #all = new Map<string, Set<(message: T) => void>>();

  add(channel: string, listener: (message: T) => void): Unsubscribe {
    const listeners = this.#all.get(channel) ?? new Set();
    this.#all.set(channel, listeners.add(listener));
    return async () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#all.get(channel) === listeners) this.#all.delete(channel);
    };
  }

  tell(channel: string, message: T): void {
    const listeners = this.#all.get(channel) ?? [];
    for (const listener of listeners) {
      queueMicrotask(() => {
        if (this.#all.get(channel)?.has(listener)) listener(message);
      });
    }
  }
}

/** Takes the place of a Redis server: holds the data, and the listeners. */
export class EmbeddedServer {
  readonly data: EmbeddedData;
  readonly clock: DataClock;
  /** `undefined`: its calls are answered at once, however many there are. */
  readonly turns: LoopTurns | undefined;
  /** By channel. */
  readonly messages = new Listeners<string>();
  /** By prefix. */
  readonly events = new Listeners<EventEntry>();

  constructor(clock: DataClock, turns?: LoopTurns) {
    this.clock = clock;
    this.turns = turns;
    this.data = new EmbeddedData(
      () => clock.now(),
      (channel, message) => this.messages.tell(fromBytes(channel), fromBytes(message)),
    );
  }
}
