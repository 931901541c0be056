import type { Log } from '../../../log.js';
import type { Clock, Timer } from '../../../time/clock.js';

/**
 * After the last call that a replica refused, in milliseconds: by then calls go to the primary, and what is signalled comes
 * from there. Connections that were made anew at once could end at the same replica.
 */
const FOLLOW_AFTER = 500;

/**
 * Calls that a replica refuses within this time, in milliseconds, were sent on the same connection: it takes longer until
 * there is another one.
 */
const LEAVING_TIME = 50;

/** Calls that a replica refuses within this time, in milliseconds, tell of one failover, which is worth one warning. */
const FAILOVER_TIME = 10_000;

export interface ReplicaWatchOptions {
  /** Host and port, for messages. */
  readonly address: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Makes the connections anew that are never refused anything, since they only read. */
  readonly follow: () => void;
}

/**
 * Notices that the primary has become a replica, behind an address that leads to another server or will. ioredis makes the
 * connection of the refused call anew; those that only read follow once calls are served again. See docs/decisions/0040.
 */
export class ReplicaWatch {
  readonly #options: ReplicaWatchOptions;
  #following: Timer | undefined;
  /** When a call was last refused, epoch milliseconds on the local clock. */
  #refusedAt = -Infinity;
  /** When a connection was last left for that, likewise. */
  #leftAt = -Infinity;

  constructor(options: ReplicaWatchOptions) {
    this.#options = options;
  }

  /**
   * To be called with each call that is refused.
   *
   * @returns whether to make its connection anew: once, however many calls are refused on it
   */
  refused(): boolean {
    const { address, clock, log, follow } = this.#options;
    const now = clock.now();
    if (now - this.#refusedAt > FAILOVER_TIME) {
      log.warn(`Redis at ${address} has become a read-only replica; the connections are made anew`);
    }
    this.#refusedAt = now;
    this.close();
    this.#following = clock.setTimer(FOLLOW_AFTER, follow);
    if (now - this.#leftAt < LEAVING_TIME) return false;
    this.#leftAt = now;
    return true;
  }

  close(): void {
    this.#following?.cancel();
  }
}
