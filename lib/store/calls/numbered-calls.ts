import { randomUUID } from 'node:crypto';

/** Identity of a call for a script with `modules/answered.lua`. */
interface NumberedCall {
  /** Key of the latest call of the caller. */
  readonly answered: string;
  readonly sequence: number;
}

/**
 * Numbers calls that need no name, since a repeat sets the same thing again. A repeat has another number, so a delayed copy of a call
 * is recognized, or is older than a later call, and changes nothing.
 */
export class NumberedCalls {
  readonly #caller = randomUUID();
  #sequence = 0;

  /** @param keyOf returns the key of a caller's calls, at the node that the call goes to */
  next(keyOf: (caller: string) => string): NumberedCall {
    return { answered: keyOf(this.#caller), sequence: ++this.#sequence };
  }
}
