import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

const BYTES_PER_ID = 16;

/** Asking for random bytes costs more than all else of a publish; asking for many at once costs next to nothing. */
const POOL_SIZE = 1024 * BYTES_PER_ID;

/** Makes UUIDs of version 7, each greater than the one before. */
export class MessageIds {
  readonly #pool = new Uint8Array(POOL_SIZE);
  #used = POOL_SIZE;
  #msecs = -Infinity;
  #sequence = 0;

  next(): string {
    const random = this.#random();
    const now = Date.now();
    if (now > this.#msecs) {
      this.#msecs = now;
      // A random start with the highest of its 32 bits clear leaves room to count within a millisecond (RFC 9562, 6.2).
      this.#sequence = (((random[0] ?? 0) & 0x7f) << 24) | ((random[1] ?? 0) << 16) | ((random[2] ?? 0) << 8);
    } else if ((this.#sequence = (this.#sequence + 1) | 0) === 0) {
      this.#msecs++;
    }
    return uuidv7({ random, msecs: this.#msecs, seq: this.#sequence });
  }

  #random(): Uint8Array {
    if (this.#used === POOL_SIZE) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    return this.#pool.subarray(this.#used, (this.#used += BYTES_PER_ID));
  }
}
