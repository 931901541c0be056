/** Name of an option that bounds the messages of several receive() calls together. */
export const ROOM = Symbol.for('nestjs-delay-queue.room');

/** Options of a call that shares its room. */
export interface Sharing {
  readonly [ROOM]?: Room | undefined;
}

/** Number of messages that can still be given. */
export class Room {
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  /** @returns how many of the wanted messages can be given; each has to be given or {@link putBack} */
  take(wanted: number): number {
    const taken = Math.min(wanted, this.#left);
    this.#left -= taken;
    return taken;
  }

  putBack(count: number): void {
    this.#left += count;
  }
}
