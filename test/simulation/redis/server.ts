import type { EmbeddedCalls } from '../../../lib/broker/embedded/embedded-calls.js';
import type { EmbeddedData, Snapshot } from '../../../lib/broker/embedded/data/embedded-data.js';
import type { Product } from '../product/evaluate.js';
import type { World } from '../world/world.js';

/** Whoever hears what is published. */
export interface Hearer {
  hears(channel: string, message: string): void;
}

/** The data of a Redis, and its script engine; one serves one simulation after the other, so that V8 need not learn it anew. */
export interface Engine {
  readonly data: EmbeddedData;
  /** Runs what a build of the product sends. */
  callsOf(product: Product): EmbeddedCalls;
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
  const all = new Map<Product, EmbeddedCalls>();
  const callsOf = (build: Product): EmbeddedCalls => {
    const known = all.get(build) ?? new build.EmbeddedCalls(server as never, clock);
    all.set(build, known);
    return known;
  };
  return Object.assign(engine, { data, callsOf }) as Engine;
}

/** Called with each call that is run. */
export interface ServerWatcher {
  called(): void;
}

/** One Redis: what it does with calls, and what becomes of it. */
export class Server {
  /** Epoch milliseconds until which it answers nobody, still loads its data, and has no room. */
  stalledUntil = 0;
  loadingUntil = 0;
  fullUntil = 0;
  /** Epoch milliseconds until which nobody hears what is published. */
  muteUntil = 0;
  /** Grows with each failover: a connection made before is one to a replica now. */
  term = 0;
  /** How far its clock is ahead, in milliseconds. */
  #offset = 0;
  /** What its clock showed at most before it was set. */
  #shown = -Infinity;
  readonly #world: World;
  readonly #engine: Engine;
  readonly #hearers = new Map<string, Set<Hearer>>();

  constructor(world: World, engine: Engine) {
    this.#world = world;
    this.#engine = engine;
    engine.server = this;
    engine.data.restore(undefined);
  }

  get data(): EmbeddedData {
    return this.#engine.data;
  }

  callsOf(product: Product): EmbeddedCalls {
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
    return Math.max(this.stalledUntil, this.loadingUntil, this.fullUntil, this.#shown - this.#offset);
  }

  /** What is stored now, as a replica gets to know it, or a file on disk. */
  snapshot(): Snapshot {
    return this.data.snapshot();
  }

  /** What takes the place of this Redis has only that. */
  failOver(snapshot: Snapshot | undefined): void {
    this.data.restore(snapshot);
    this.term++;
  }

  /**
   * Why a call is not run; `undefined`: it is.
   *
   * @param term of the connection that it comes by
   */
  refusal(term: number, adds: boolean): string | undefined {
    if (term !== this.term) return "READONLY You can't write against a read only replica.";
    if (this.#world.now < this.loadingUntil) return 'LOADING Redis is loading the dataset in memory';
    if (adds && this.#world.now < this.fullUntil) return "OOM command not allowed when used memory > 'maxmemory'.";
    return undefined;
  }

  published(channel: string, message: string): void {
    if (this.#world.now < this.muteUntil) return;
    for (const hearer of this.#hearers.get(channel) ?? []) hearer.hears(channel, message);
  }

  subscribe(channel: string, hearer: Hearer): void {
    const all = this.#hearers.get(channel) ?? new Set();
    this.#hearers.set(channel, all.add(hearer));
  }

  forget(hearer: Hearer): void {
    for (const all of this.#hearers.values()) all.delete(hearer);
  }
}
