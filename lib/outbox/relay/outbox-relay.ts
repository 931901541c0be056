import { v7 as uuidv7 } from 'uuid';
import type { Broker } from '../../store/broker.interface.js';
import type { Unsubscribe } from '../../store/driver.interface.js';
import { errorLine } from '../../log.js';
import { Loop } from '../../time/loop.js';
import type { ShardState } from '../table/outbox-table.js';
import { LEASE, ShardRelay, type ShardRelayOptions } from './shard-relay.js';

export interface OutboxRelayOptions extends Omit<ShardRelayOptions, 'onLost' | 'redisNow'> {
  readonly broker: Broker;
}

/** Time between two looks at all shards, in milliseconds. */
const LOOK = LEASE / 3;

/**
 * Relays the shards that this process holds. A shard has one relay at a time, whose lease is counted by the clock of the database; others
 * tell it of their commits by a signal over Redis.
 */
export class OutboxRelay {
  readonly #options: OutboxRelayOptions;
  readonly #owner = `outbox:${uuidv7()}`;
  readonly #shards = new Map<number, ShardRelay>();
  /** Relays of other processes, by shard. */
  readonly #owners = new Map<number, string>();
  /** Shards whose relays are to be told. */
  readonly #untold = new Set<number>();
  readonly #looks: Loop;
  readonly #telling: Loop;
  #unsubscribe: Unsubscribe | undefined;
  #hasFailed = false;

  constructor(options: OutboxRelayOptions) {
    this.#options = options;
    const { clock } = options;
    this.#looks = new Loop({ clock, run: () => this.#look() });
    this.#telling = new Loop({ clock, gather: true, run: () => this.#tell() });
  }

  /** Takes the shards that are free, now and later. */
  start(): void {
    const { broker } = this.#options;
    this.#unsubscribe = broker.watchSession(this.#owner, (signal) => {
      if (signal.kind === 'outbox') this.#shards.get(signal.shard)?.wake();
    });
    void this.#looks.start();
  }

  /** Whether this process relays a shard. */
  holds(shard: number): boolean {
    return this.#shards.has(shard);
  }

  /** Call this when a transaction that has written to a shard was committed. */
  committed(shard: number): void {
    const own = this.#shards.get(shard);
    if (own) return own.wake();
    this.#untold.add(shard);
    this.#telling.poke();
  }

  /** Lets batches under way end, and gives the shards to others. Can be called twice. */
  async stop(): Promise<void> {
    await this.#looks.stop();
    await this.#telling.stop();
    await Promise.all(Array.from(this.#shards.values(), async (relay) => relay.stop()));
    await this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    if (this.#shards.size === 0) return;
    this.#shards.clear();
    try {
      await this.#options.table.release(this.#owner);
    } catch (error) {
      this.#options.log.warn(
        `The shards of the outbox go to another process only ${LEASE / 1000} s later: ${errorLine(error)}`,
      );
    }
  }

  /** Never rejects. */
  async #look(): Promise<number> {
    const { table, log, events } = this.#options;
    try {
      if (this.#shards.size > 0) await table.renew(this.#owner, LEASE);
      let states = await table.shards();
      const free = states.filter(({ isFree }) => isFree);
      for (const state of free) await table.take(state, this.#owner, LEASE);
      if (free.length > 0) states = await table.shards();
      this.#note(states);
      this.#hasFailed = false;
    } catch (error) {
      events.emit('errors', { source: 'outbox', error });
      if (!this.#hasFailed) log.warn(`The shards of the outbox cannot be looked at: ${errorLine(error)}`);
      this.#hasFailed = true;
    }
    return LOOK;
  }

  #note(states: readonly ShardState[]): void {
    const { broker } = this.#options;
    for (const state of states) {
      const { shard, owner, epoch } = state;
      if (owner !== this.#owner) {
        this.#drop(shard);
        if (owner !== undefined) this.#owners.set(shard, owner);
      } else if (this.#shards.get(shard)?.epoch !== epoch) {
        this.#drop(shard);
        const options = {
          ...this.#options,
          redisNow: () => broker.now(),
          onLost: (lost: number) => this.#drop(lost),
        };
        const relay = new ShardRelay(options, state, this.#owner);
        this.#shards.set(shard, relay);
        relay.wake();
      }
    }
  }

  #drop(shard: number): void {
    void this.#shards.get(shard)?.stop();
    this.#shards.delete(shard);
  }

  /** Tells relays of other processes. Never rejects: they look by themselves, too. */
  async #tell(): Promise<void> {
    const { broker } = this.#options;
    const shards = [...this.#untold];
    this.#untold.clear();
    await Promise.allSettled(
      shards.map(async (shard) => {
        const to = this.#owners.get(shard);
        if (to !== undefined) await broker.fleet.tell({ to, signal: { kind: 'outbox', shard } });
      }),
    );
  }
}
