import type { Server } from '../redis/server.js';
import type { Accidents } from '../world/accidents.js';
import type { World } from '../world/world.js';

/** For how long what went wrong may have consequences, in milliseconds. */
export const AFTERMATH = 15_000;

/** Tells since when all has been well. */
export class Calm {
  readonly #server: Server;
  readonly #accidents: Accidents;
  readonly #begunAt: number;

  constructor(world: World, server: Server, accidents: Accidents) {
    this.#server = server;
    this.#accidents = accidents;
    this.#begunAt = world.now;
  }

  /** From when on nothing that went wrong before had consequences. World time, and mostly one that is still to come. */
  get from(): number {
    const { stalledUntil, loadingUntil, fullUntil } = this.#server;
    return Math.max(this.#begunAt, this.#accidents.lastAt, stalledUntil, loadingUntil, fullUntil) + AFTERMATH;
  }
}
