import type { SeededRandom } from '../../support/random.js';
import { type Accidents, exponential } from '../world/accidents.js';
import type { Faults } from '../world/faults.js';
import type { World } from '../world/world.js';
import type { Host } from './link.js';
import type { Hearer, Server } from './server.js';
import type { Shard } from './shard.js';

/** Mean time until a client notices that what it listens to has moved to another shard, in milliseconds. */
const NOTICED = 500;

export interface SignalOptions {
  readonly world: World;
  readonly server: Server;
  readonly host: Host;
  readonly faults: Faults;
  readonly accidents: Accidents;
  readonly random: SeededRandom;
  /** How long the next way takes. */
  readonly delay: () => number;
}

interface Subscription {
  readonly onMessage: (message: string) => void;
  readonly onListening: (() => void) | undefined;
}

/** The connections of a process for signals: one to each shard. */
export class Signals implements Hearer {
  readonly #options: SignalOptions;
  readonly #subscriptions = new Map<string, Set<Subscription>>();
  #lastSignal = 0;
  /** By shard. World time. */
  readonly #deafUntil: number[];

  constructor(options: SignalOptions) {
    this.#options = options;
    this.#deafUntil = options.server.shards.map(() => 0);
  }

  /** @returns what ends it */
  listen(channel: string, onMessage: (message: string) => void, onListening?: () => void): () => void {
    const all = this.#subscriptions.get(channel) ?? new Set();
    const subscription = { onMessage, onListening };
    this.#subscriptions.set(channel, all.add(subscription));
    this.#subscribe(channel, () => all.has(subscription), onListening);
    return () => void all.delete(subscription);
  }

  #subscribe(channel: string, isWanted: () => boolean, onListening?: () => void): void {
    const { world, server, host, delay } = this.#options;
    world.after(delay(), () => {
      if (!isWanted() || host.isDead) return;
      server.subscribe(channel, this);
      host.after(delay(), () => isWanted() && onListening?.());
    });
  }

  hears(channel: string, message: string): void {
    const { accidents, faults, host, world, server, delay } = this.#options;
    const deafUntil = this.#deafUntil[server.placement.of(channel).index] as number;
    if (deafUntil === Infinity) return;
    if (accidents.happens('lost signal', faults.lostSignals, host.name)) return;
    const times = accidents.happens('doubled signal', faults.doubledSignals, host.name) ? 2 : 1;
    for (let i = 0; i < times; i++) {
      let at = Math.max(world.now, deafUntil) + delay();
      // In order, unless it is the second of two.
      if (i === 0) at = this.#lastSignal = Math.max(this.#lastSignal, at);
      host.at(at, () => {
        for (const { onMessage } of this.#subscriptions.get(channel) ?? []) onMessage(message);
      });
    }
  }

  moved(channel: string): void {
    const { host, random } = this.#options;
    const all = this.#subscriptions.get(channel);
    if (!all || all.size === 0) return;
    host.after(exponential(random, NOTICED), () => {
      this.#subscribe(
        channel,
        () => all.size > 0,
        () => tell(all),
      );
    });
  }

  /** Signals are held up, as by a network that loses packets and sends them again. */
  deafen(duration: number): void {
    const until = this.#options.world.now + duration;
    for (const [i, before] of this.#deafUntil.entries()) this.#deafUntil[i] = Math.max(before, until);
  }

  /** Makes the connection to a shard anew. */
  rebuild(shard: Shard): void {
    const { host, random, faults } = this.#options;
    this.#deafUntil[shard.index] = Infinity;
    host.after(random.between(5, faults.reconnect), () => this.#rebuilt(shard));
  }

  #rebuilt(shard: Shard): void {
    const { host, server } = this.#options;
    if (shard.isAway) return void host.at(shard.awayUntil, () => this.#rebuilt(shard));
    this.#deafUntil[shard.index] = 0;
    for (const [channel, all] of this.#subscriptions) if (server.placement.of(channel) === shard) tell(all);
  }

  /** @param shard which alone ends what was subscribed to there */
  end(shard?: Shard): void {
    const { server } = this.#options;
    const isOf = (channel: string): boolean => !shard || server.placement.of(channel) === shard;
    server.forget(this, isOf);
    if (shard) for (const channel of this.#subscriptions.keys()) if (isOf(channel)) this.moved(channel);
  }
}

function tell(subscriptions: Iterable<Subscription>): void {
  for (const { onListening } of subscriptions) onListening?.();
}
