import { hash, timingSafeEqual } from 'node:crypto';

/** A secret, or a guess at one. Comparing them takes the same time however much of a guess is right. */
export class Secret {
  readonly #digest: Buffer;

  constructor(text: string) {
    this.#digest = hash('sha256', text, 'buffer');
  }

  equals(guess: Secret): boolean {
    return timingSafeEqual(this.#digest, guess.#digest);
  }
}
