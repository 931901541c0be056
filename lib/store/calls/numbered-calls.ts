import { randomUUID } from 'node:crypto';

/** What a script with `modules/answered.lua` tells a call by. */
interface NumberedCall {
  /** Where Redis keeps the latest call of the caller. */
  readonly answered: string;
  readonly sequence: number;
}

/**
 * Numbers calls that nobody has to name, since they set the same thing again if they are made again. One that is made again has another
 * number, so a delayed copy of one is known, or older than what was made since, and changes nothing.
 */
export class NumberedCalls {
  readonly #caller = randomUUID();
  #sequence = 0;

  /** @param keyOf where the calls of a caller are kept, beside what the call is about */
  next(keyOf: (caller: string) => string): NumberedCall {
    return { answered: keyOf(this.#caller), sequence: ++this.#sequence };
  }
}
