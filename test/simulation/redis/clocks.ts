import type { ServerClock } from '../../../lib/store/server-clock.js';
import type { Clock } from '../../../lib/time/clock.js';
import type { Product } from '../product/evaluate.js';
import type { Server } from './server.js';
import type { Shard } from './shard.js';

/** The clocks of the shards as a process estimates them. */
export class Clocks {
  readonly shards: readonly Shard[];
  readonly #server: Server;
  readonly #all: readonly ServerClock[];

  /** @param onStep called when an estimate has stepped */
  constructor(product: Product, server: Server, clock: Clock, onStep: () => void) {
    this.shards = server.shards;
    this.#server = server;
    this.#all = server.shards.map(() => new product.ServerClock(clock, onStep));
  }

  /** @param shard if it is not the one that holds the key */
  of(key: string, shard?: Shard): ServerClock {
    const { index } = shard ?? this.#server.placement.of(key);
    return this.#all[index] as ServerClock;
  }
}
