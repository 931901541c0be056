import type { World } from '../world/world.js';

/** One Redis, or one shard of a Cluster: its primary, whichever server that is. */
export class Shard {
  readonly index: number;
  /** Epoch milliseconds until which it answers nobody, still loads its data, has no room, and lets nobody connect. */
  stalledUntil = 0;
  loadingUntil = 0;
  fullUntil = 0;
  awayUntil = 0;
  /** Grows with each failover: a connection made before is one to a replica now. */
  term = 0;
  readonly #world: World;

  constructor(world: World, index: number) {
    this.#world = world;
    this.index = index;
  }

  get isAway(): boolean {
    return this.#world.now < this.awayUntil;
  }

  /** World time from which it serves everybody. */
  get wellFrom(): number {
    return Math.max(this.stalledUntil, this.loadingUntil, this.fullUntil, this.awayUntil);
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
}
