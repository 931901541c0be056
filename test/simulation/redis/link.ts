import { type Accidents, exponential } from '../world/accidents.js';
import { type Faults, WORST } from '../world/faults.js';
import type { World } from '../world/world.js';
import type { SeededRandom } from '../../support/random.js';
import type { Product } from '../product/evaluate.js';
import { Lane, type Request, type Sent } from './lane.js';
import type { Server } from './server.js';
import type { Shard } from './shard.js';
import { Signals } from './signals.js';

/** Whose connections they are. */
export interface Host {
  readonly name: string;
  readonly isDead: boolean;
  /** Epoch milliseconds by its own clock. */
  now(): number;
  /** Does something there, unless it is dead by then. */
  at(time: number, run: () => void): unknown;
  after(delay: number, run: () => void): unknown;
  /** Called when a call is about to be run. */
  willRun(name: string, shard: Shard): void;
  /** Called when a call was run, before its answer is sent. */
  hasRun(name: string): void;
}

export interface LinkOptions {
  readonly world: World;
  readonly server: Server;
  /** What the host runs. */
  readonly product: Product;
  readonly host: Host;
  readonly faults: Faults;
  readonly accidents: Accidents;
  readonly random: SeededRandom;
}

/** The connections of one process to Redis, from its start to its end: one for calls to each shard, and those for signals. */
export class Link {
  /** When a connection for calls broke last. World time. */
  lostAt = -Infinity;
  /** Whether signals may get lost while it is up, as on the bus of a cluster. */
  readonly losesSignals: boolean;
  readonly signals: Signals;
  readonly #options: LinkOptions;
  readonly #lanes: readonly Lane[];
  readonly #onUp = new Set<() => void>();
  readonly #onSlots = new Set<() => void>();

  constructor(options: LinkOptions) {
    this.#options = options;
    const { world, server, faults, host } = options;
    const worst = world.random('worst').pick(WORST);
    this.losesSignals = faults.lostSignals > 0;
    const delay = (): number => this.#delay();
    this.#lanes = server.shards.map(
      (shard) =>
        new Lane({
          ...options,
          shard,
          worst,
          delay,
          onUp: () => this.#connected(),
          onLost: () => {
            this.lostAt = world.now;
            world.trace(host.name, 'lost its connection');
          },
          redirect: (sent) => this.#redirect(sent),
        }),
    );
    this.signals = new Signals({ ...options, delay });
  }

  /** Whether a shard can be called. */
  get isUp(): boolean {
    return this.#lanes.some(({ isUp }) => isUp);
  }

  // ── calls ───────────────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * @param shard that has to answer, if it is not the one that holds its key
   * @returns what the server answers, after the way there and back
   */
  async send(request: Request, shard?: Shard): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#options.host.isDead) return;
      const lane = this.#laneOf(request, shard);
      lane.send({ request, resolve, reject, sentAt: 0, hasRun: false, isOver: false, redirections: 0 });
    });
  }

  #redirect(sent: Sent): void {
    this.#laneOf(sent.request).send(sent);
    this.#tell(this.#onSlots);
  }

  #laneOf({ key }: Request, shard?: Shard): Lane {
    const { placement } = this.#options.server;
    const place = shard ?? (key === undefined ? undefined : placement.of(key));
    return (place ? this.#lanes[place.index] : (this.#lanes.find(({ isUp }) => isUp) ?? this.#lanes[0])) as Lane;
  }

  /** The connection for calls to a shard breaks, or those to all of them. */
  reset(shard?: Shard): void {
    for (const [index, lane] of this.#lanes.entries()) if (!shard || shard.index === index) lane.reset();
  }

  #connected(): void {
    const isFirst = this.#lanes.filter(({ isUp }) => isUp).length === 1;
    this.#tell(isFirst ? this.#onUp : this.#onSlots);
  }

  #tell(listeners: Iterable<() => void>): void {
    for (const listener of listeners) listener();
  }

  onAvailable(listener: () => void): () => void {
    this.#onUp.add(listener);
    return () => void this.#onUp.delete(listener);
  }

  /** Calls the listener when slots of a Cluster may be elsewhere. */
  onSlots(listener: () => void): void {
    this.#onSlots.add(listener);
  }

  rebuild(which: 'calls' | 'signals', shard?: Shard): void {
    if (which === 'calls') return this.reset();
    for (const one of shard ? [shard] : this.#options.server.shards) this.signals.rebuild(one);
  }

  #delay(): number {
    const { latency, spikes } = this.#options.faults;
    const { random, accidents, host } = this.#options;
    const delay = exponential(random, latency);
    return accidents.happens('spike', spikes, host.name) ? delay * 1000 : delay;
  }

  /** The process has been killed: what it has sent may still arrive, up to some call. */
  end(): void {
    for (const lane of this.#lanes) lane.end();
    this.signals.end();
  }
}
