import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { UUID_BYTES, type UuidText, toUuidText } from '../messages/uuid-text.js';

/** A request for random bytes costs more than the rest of a publish; a request for many costs hardly more than one for few. */
const POOL_SIZE = 1024 * UUID_BYTES;

/** Makes UUIDs of version 7. Each is greater than the one before. */
export class MessageIds {
  readonly #pool = new Uint8Array(POOL_SIZE);
  readonly #random = new Uint8Array(UUID_BYTES);
  readonly #bytes = new Uint8Array(UUID_BYTES);
  #used = POOL_SIZE;
  #msecs = -Infinity;
  #sequence = 0;

  next(): UuidText {
    const random = this.#drawRandom();
    const now = Date.now();
    if (now > this.#msecs) {
      this.#msecs = now;
      // A random start with the highest of its 32 bits clear leaves room to count within a millisecond (RFC 9562, 6.2).
      this.#sequence = (((random[0] ?? 0) & 0x7f) << 24) | ((random[1] ?? 0) << 16) | ((random[2] ?? 0) << 8);
    } else if ((this.#sequence = (this.#sequence + 1) | 0) === 0) {
      this.#msecs++;
    }
    uuidv7({ random, msecs: this.#msecs, seq: this.#sequence }, this.#bytes);
    return toUuidText(this.#bytes);
  }

  #drawRandom(): Uint8Array {
    if (this.#used === POOL_SIZE) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    // Copied, since a view of the pool would be one more object for each id.
    for (let i = 0; i < UUID_BYTES; i++) this.#random[i] = this.#pool[this.#used++] as number;
    return this.#random;
  }
}
