import type { Clock, Timer } from '../../../lib/time/clock.js';
import type { DelayQueueConnection } from '../../../lib/composition/delay-queue.connection.js';
import type { Product } from '../product/evaluate.js';
import type { Gateway } from '../http/gateway.js';
import type { Host, Link } from '../redis/link.js';
import type { Shard } from '../redis/shard.js';
import type { World, WorldEvent } from '../world/world.js';
import type { SeededRandom } from '../../support/random.js';

/** How late a timer may be, in milliseconds. */
const TIMER_JITTER = 0.5;

export interface ProcessOptions {
  readonly world: World;
  readonly name: string;
  /** How far its clock is ahead, in milliseconds, and by how much too fast, as a share of time. */
  readonly skew: number;
  readonly drift: number;
  /** Whether it was told the limits of what is only received. */
  readonly isTold: boolean;
  /** What it runs. */
  readonly product: Product;
  readonly jitter: SeededRandom;
  /** Ends it, and has another one started in its place. */
  readonly crash: () => void;
  readonly willRun: (call: string, shard: Shard) => void;
  readonly hasRun: (process: Process, call: string) => void;
}

/** One process from its start to its end. */
export class Process implements Host, Clock {
  readonly name: string;
  isDead = false;
  /** When it last stood still, lost a connection or died: what it does after that may be late. World time. */
  disturbedAt = -Infinity;
  link!: Link;
  /** The partitions that it owns as far as it knows, such as `orders:0`. */
  readonly owned = new Set<string>();
  /** `undefined`: it is starting, or ending. */
  connection: DelayQueueConnection | undefined;
  /** Whether it does what others ask for, and nothing by itself. */
  isService = false;
  /** What others than the fleet reach it by. */
  gateway: Gateway | undefined;
  readonly #options: ProcessOptions;
  readonly #startedAt: number;
  #thawsAt = 0;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.name = options.name;
    this.#startedAt = options.world.now;
  }

  get product(): Product {
    return this.#options.product;
  }

  get isTold(): boolean {
    return this.#options.isTold;
  }

  get isFrozen(): boolean {
    return this.#options.world.now < this.#thawsAt;
  }

  now(): number {
    const { world, skew, drift } = this.#options;
    return world.now + skew + (world.now - this.#startedAt) * drift;
  }

  /** It stands still: stopped by a signal, or with an event loop that is kept busy. */
  freeze(duration: number): void {
    const { world } = this.#options;
    this.#thawsAt = Math.max(this.#thawsAt, world.now + duration);
    this.disturbedAt = this.#thawsAt;
    world.trace(this.name, `stands still for ${Math.round(duration)} ms`);
  }

  end(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.disturbedAt = this.#options.world.now;
    this.link.end();
    this.#options.world.trace(this.name, 'is gone');
  }

  willRun(call: string, shard: Shard): void {
    this.#options.willRun(call, shard);
  }

  hasRun(call: string): void {
    this.#options.hasRun(this, call);
  }

  /** Something that runs in it ends it. */
  crash(): void {
    if (!this.isDead) this.#options.crash();
  }

  at(time: number, run: () => void): WorldEvent {
    const { world } = this.#options;
    const event = world.at(time, () => {
      if (this.isDead) return;
      if (!this.isFrozen) return run();
      // Once it goes on, in the order in which it would have happened.
      world.at(this.#thawsAt, () => event.run?.());
    });
    return event;
  }

  after(delay: number, run: () => void): WorldEvent {
    return this.at(this.#options.world.now + delay, run);
  }

  setTimer(delay: number, run: () => void): Timer {
    const { drift, jitter } = this.#options;
    const event = this.after(Math.max(0, delay) / (1 + drift) + jitter.next() * TIMER_JITTER, run);
    return { cancel: () => (event.run = undefined) };
  }

  /** @param delay milliseconds */
  async sleep(delay: number): Promise<void> {
    return new Promise((resolve) => void this.setTimer(delay, resolve));
  }
}
