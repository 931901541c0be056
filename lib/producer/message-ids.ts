import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

const BYTES_PER_ID = 16;

/** Asking for random bytes costs more than all else of a publish; asking for many at once costs next to nothing. */
const POOL_SIZE = 1024 * BYTES_PER_ID;

/** Where in the text of a UUID the two digits of each byte stand. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

const DIGITS = Buffer.from('0123456789abcdef');

/** Makes UUIDs of version 7, each greater than the one before. */
export class MessageIds {
  readonly #pool = new Uint8Array(POOL_SIZE);
  readonly #random = new Uint8Array(BYTES_PER_ID);
  readonly #bytes = new Uint8Array(BYTES_PER_ID);
  readonly #text = Buffer.from('00000000-0000-0000-0000-000000000000');
  #used = POOL_SIZE;
  #msecs = -Infinity;
  #sequence = 0;

  next(): string {
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
    return this.#format();
  }

  /** In place: put together from pieces, as the `uuid` package does, the text of an id takes as long as that of a payload. */
  #format(): string {
    for (let i = 0; i < BYTES_PER_ID; i++) {
      const byte = this.#bytes[i] as number;
      const place = PLACES[i] as number;
      this.#text[place] = DIGITS[byte >> 4] as number;
      this.#text[place + 1] = DIGITS[byte & 0xf] as number;
    }
    return this.#text.toString('latin1');
  }

  #drawRandom(): Uint8Array {
    if (this.#used === POOL_SIZE) {
      randomFillSync(this.#pool);
      this.#used = 0;
    }
    // Copied: a view of the pool would be one more object for each id.
    for (let i = 0; i < BYTES_PER_ID; i++) this.#random[i] = this.#pool[this.#used++] as number;
    return this.#random;
  }
}
