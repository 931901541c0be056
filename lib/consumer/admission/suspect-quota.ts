import { SUSPECT_ROOM } from '../../store/deliveries/claim.js';

/** What may wait for room, and is woken when there may be some. */
export interface SuspectTaker {
  /** There may be room for suspects that were held back. */
  lookAgain(): void;
}

/** What a claim is told; given back by {@link SuspectQuota.leave}. */
export interface SuspectRoom {
  readonly room: number;
}

const NO_ROOM: SuspectRoom = { room: 0 };

/**
 * Bounds how many messages run at once in this process that may have killed earlier ones: groups of them, and in the end each
 * alone, whatever partitions they are in. Everything else runs beside them. One claim at a time has room, since nobody knows
 * before what it will bring.
 */
export class SuspectQuota {
  #used = 0;
  #claiming: SuspectRoom | undefined;
  /** With the room that each saw when its suspects were held back. */
  readonly #waiting = new Map<SuspectTaker, number>();

  /** For a claim that is sent now. */
  enter(): SuspectRoom {
    if (this.#claiming) return NO_ROOM;
    this.#claiming = { room: Math.max(0, SUSPECT_ROOM - this.#used) };
    return this.#claiming;
  }

  /** Frees the room of a claim; to be called when it is answered, and before that if it may take long. May be called twice. */
  leave(given: SuspectRoom): void {
    if (given !== this.#claiming) return;
    this.#claiming = undefined;
    this.#wakeNext();
  }

  /** Suspects run from now on that take so much room. */
  take(weight: number): void {
    this.#used += weight;
  }

  /** They have ended. */
  release(weight: number): void {
    this.#used -= weight;
    this.#wakeNext();
  }

  /** Has it look again once there is more room than its claim had, which may be now. */
  await(taker: SuspectTaker, { room }: SuspectRoom): void {
    this.#waiting.set(taker, room);
    this.#wakeNext();
  }

  forget(taker: SuspectTaker): void {
    this.#waiting.delete(taker);
  }

  /** One at a time: the next one is woken when its claim is answered. */
  #wakeNext(): void {
    if (this.#claiming) return;
    for (const [taker, seen] of this.#waiting) {
      if (SUSPECT_ROOM - this.#used <= seen) continue;
      this.#waiting.delete(taker);
      taker.lookAgain();
      return;
    }
  }
}
