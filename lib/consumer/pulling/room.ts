/** What an option of this name says is how many messages several calls of receive() may give together. */
export const ROOM = Symbol.for('nestjs-delay-queue.room');

/** Options of a call that shares its room. */
export interface Sharing {
  readonly [ROOM]?: Room | undefined;
}

/** How many messages may still be given. */
export class Room {
  #left: number;

  constructor(most: number) {
    this.#left = most;
  }

  /** @returns how many of so many may be given; they have to be, or {@link putBack} */
  take(wanted: number): number {
    const taken = Math.min(wanted, this.#left);
    this.#left -= taken;
    return taken;
  }

  putBack(count: number): void {
    this.#left += count;
  }
}
