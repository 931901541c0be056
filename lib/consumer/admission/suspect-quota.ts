import { SUSPECT_ROOM } from '../../store/deliveries/claim.js';

/** A taker of room for suspects, which can wait and is woken when there may be some. */
export interface SuspectTaker {
  /** Called when there may be room for suspects that were held back. */
  lookAgain(): void;
}

/** Room granted to a claim; {@link SuspectQuota.leave} gives it back. */
export interface SuspectRoom {
  readonly room: number;
}

const NO_ROOM: SuspectRoom = { room: 0 };

/**
 * Bounds how many messages that may have killed earlier processes run at once in this one: groups of them, and in the end each alone,
 * whatever partitions they are in. Everything else runs beside them. One claim at a time has room, since its result is not known in
 * advance.
 */
export class SuspectQuota {
  #used = 0;
  #claiming: SuspectRoom | undefined;
  /** Waiting takers, with the room that each saw when its suspects were held back. */
  readonly #waiting = new Map<SuspectTaker, number>();

  /** Grants room to a claim that is sent now. */
  enter(): SuspectRoom {
    if (this.#claiming) return NO_ROOM;
    this.#claiming = { room: Math.max(0, SUSPECT_ROOM - this.#used) };
    return this.#claiming;
  }

  /** Frees the room of a claim. Call this when the claim is answered, or earlier if it may take long; a second call has no effect. */
  leave(given: SuspectRoom): void {
    if (given !== this.#claiming) return;
    this.#claiming = undefined;
    this.#wakeNext();
  }

  /** Takes room for suspects that run from now on. */
  take(weight: number): void {
    this.#used += weight;
  }

  /** Frees the room of suspects that have ended. */
  release(weight: number): void {
    this.#used -= weight;
    this.#wakeNext();
  }

  /** Wakes a taker once there is more room than its claim had, perhaps at once. */
  await(taker: SuspectTaker, { room }: SuspectRoom): void {
    this.#waiting.set(taker, room);
    this.#wakeNext();
  }

  forget(taker: SuspectTaker): void {
    this.#waiting.delete(taker);
  }

  /** Wakes one taker at a time: the next one when this one's claim is answered. */
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
