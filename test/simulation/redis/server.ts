import type { EmbeddedDriver } from '../../../lib/engines/embedded/embedded-driver.js';
import type { EmbeddedData, Snapshot } from '../../../lib/engines/embedded/data/embedded-data.js';
import type { Product } from '../product/evaluate.js';
import type { World } from '../world/world.js';
import { Placement } from './placement.js';
import { Shard } from './shard.js';

/** Whoever hears what is published. */
export interface Hearer {
  hears(channel: string, message: string): void;
  /** A channel is on another shard now, and nobody listens there yet. */
  moved(channel: string): void;
}

/** The data of a Redis, and its script engine; one serves one simulation after the other, so that V8 need not learn it anew. */
export interface Engine {
  readonly data: EmbeddedData;
  /** Runs what a build of the product sends. */
  callsOf(product: Product): EmbeddedDriver;
  server: Server;
}

export function createEngine(product: Product): Engine {
  const engine: { server?: Server } = {};
  const now = (): number => (engine.server as Server).now();
  const data = new product.EmbeddedData(now, (channel, message) =>
    (engine.server as Server).published(product.fromBytes(channel), product.fromBytes(message)),
  );
  const clock = { now, toLocal: (time: number) => time, setTimer: () => ({ cancel: () => {} }) };
  // An older build takes the data themselves.
  const call = (name: string, ...args: string[]): unknown => data.call(name, ...args);
  const server = { data, clock, call };
  const all = new Map<Product, EmbeddedDriver>();
  const callsOf = (build: Product): EmbeddedDriver => {
    const known = all.get(build) ?? new build.EmbeddedDriver(server as never, clock);
    all.set(build, known);
    return known;
  };
  return Object.assign(engine, { data, callsOf }) as Engine;
}

/** One Redis, or a Cluster whose shards have one clock: what they do with calls, and what becomes of them. */
export class Server {
  /** Epoch milliseconds until which nobody hears what is published. */
  muteUntil = 0;
  readonly shards: readonly Shard[];
  readonly placement: Placement;
  /** How far its clock is ahead, in milliseconds. */
  #offset = 0;
  /** What its clock showed at most before it was set. */
  #shown = -Infinity;
  readonly #world: World;
  readonly #engine: Engine;
  readonly #hearers = new Map<string, Set<Hearer>>();

  /** @param shards how many there are; one is no Cluster */
  constructor(world: World, engine: Engine, shards: number) {
    this.#world = world;
    this.#engine = engine;
    this.shards = Array.from({ length: shards }, (_, index) => new Shard(world, index));
    this.placement = new Placement(world, this.shards, (tag) => this.#moved(tag));
    engine.server = this;
    engine.data.restore(undefined);
  }

  get data(): EmbeddedData {
    return this.#engine.data;
  }

  get isCluster(): boolean {
    return this.shards.length > 1;
  }

  callsOf(product: Product): EmbeddedDriver {
    return this.#engine.callsOf(product);
  }

  /** Epoch milliseconds by its clock. */
  now(): number {
    return this.#world.now + this.#offset;
  }

  /** @param by milliseconds */
  stepClock(by: number): void {
    this.#shown = Math.max(this.#shown, this.now());
    this.#offset += by;
  }

  /** World time from which it serves everybody, and its clock shows what it never did before. */
  get wellFrom(): number {
    const shards = this.shards.map(({ wellFrom }) => wellFrom);
    return Math.max(...shards, this.placement.wellFrom, this.#shown - this.#offset);
  }

  /** What is stored now, as replicas get to know it, or files on disk. */
  snapshot(): Snapshot {
    return this.data.snapshot();
  }

  /** What takes the place of a shard has only that of it. */
  failOver(shard: Shard, snapshot: Snapshot | undefined): void {
    this.data.restore(this.isCluster ? this.#withOthers(shard, snapshot) : snapshot);
    shard.term++;
  }

  /** What the other shards hold stays as it is. */
  #withOthers(shard: Shard, snapshot: Snapshot | undefined): Snapshot {
    const isOf = (key: string): boolean => this.placement.of(key) === shard;
    const { values, ends } = this.snapshot();
    const merged = <T>(now: ReadonlyMap<string, T>, then: ReadonlyMap<string, T> | undefined) =>
      new Map([...[...now].filter(([key]) => !isOf(key)), ...[...(then ?? [])].filter(([key]) => isOf(key))]);
    return { values: merged(values, snapshot?.values), ends: merged(ends, snapshot?.ends) };
  }

  published(channel: string, message: string): void {
    if (this.#world.now < this.muteUntil) return;
    for (const hearer of this.#hearers.get(channel) ?? []) hearer.hears(channel, message);
  }

  subscribe(channel: string, hearer: Hearer): void {
    const all = this.#hearers.get(channel) ?? new Set();
    this.#hearers.set(channel, all.add(hearer));
  }

  forget(hearer: Hearer, isOf: (channel: string) => boolean): void {
    for (const [channel, all] of this.#hearers) if (isOf(channel)) all.delete(hearer);
  }

  /** What was subscribed to at the shard that holds it no more ends there. */
  #moved(tag: string): void {
    for (const [channel, all] of this.#hearers) {
      if (!channel.startsWith(tag)) continue;
      const hearers = [...all];
      all.clear();
      for (const hearer of hearers) hearer.moved(channel);
    }
  }
}
