import type { Server } from '../redis/server.js';
import type { Accidents } from '../world/accidents.js';

/** For how long what went wrong may have consequences, in milliseconds. */
export const AFTERMATH = 15_000;

/** Whether nothing goes wrong. */
export class Calm {
  readonly #server: Server;
  readonly #accidents: Accidents;
  readonly #begunAt: number;

  /** @param begunAt world time */
  constructor(server: Server, accidents: Accidents, begunAt: number) {
    this.#server = server;
    this.#accidents = accidents;
    this.#begunAt = begunAt;
  }

  /** From when on nothing that went wrong before had consequences. World time, and mostly one that is still to come. */
  get from(): number {
    return Math.max(this.#begunAt, this.#accidents.lastAt, this.#server.wellFrom) + AFTERMATH;
  }

  /** Whether all has been well for a while, from before that time on. */
  since(time: number): boolean {
    return time > this.from;
  }
}
