import { SeededRandom } from '../../support/random.js';
import type { World } from './world.js';

/** What happens to somebody, as a kind and its number, such as `killed 3`. */
export type Accident = string;

/**
 * What chance decides to go wrong. Each accident has a number, that of the decision among those of its kind, so that a failure can be looked for
 * with only some of those that led to it.
 */
export class Accidents {
  readonly happened: Accident[] = [];
  /** Epoch milliseconds. */
  lastAt = -Infinity;
  readonly #world: World;
  readonly #only: ReadonlySet<Accident> | undefined;
  readonly #kinds = new Map<string, { readonly random: SeededRandom; count: number }>();
  #isOver = false;

  /** @param only the ones that may happen; `undefined`: all */
  constructor(world: World, only?: readonly Accident[]) {
    this.#world = world;
    this.#only = only && new Set(only);
  }

  /** From now on nothing goes wrong. */
  end(): void {
    this.#isOver = true;
  }

  /** Something went wrong that chance has not decided. */
  caused(): void {
    this.lastAt = this.#world.now;
  }

  /** Decides whether something happens now. */
  happens(kind: string, share: number, who: string): boolean {
    if (share === 0 || this.#isOver) return false;
    const state = this.#stateOf(kind);
    state.count++;
    return state.random.next() < share && this.#isAllowed(kind, state.count, who);
  }

  /**
   * Has something happen again and again.
   *
   * @param every mean time between two, in milliseconds
   * @param befall draws from the numbers it is given, and nowhere else
   */
  recur(kind: string, every: number, befall: (random: SeededRandom) => void): void {
    if (every === Infinity) return;
    const state = this.#stateOf(kind);
    const next = (): void => {
      this.#world.after(exponential(state.random, every), () => {
        if (this.#isOver) return;
        state.count++;
        // Drawn also if it does not happen: the next ones stay as they are.
        const random = new SeededRandom(Math.floor(state.random.next() * 2 ** 32));
        if (this.#isAllowed(kind, state.count, '')) befall(random);
        next();
      });
    };
    next();
  }

  /** Numbers for the details of accidents of a kind. */
  random(kind: string): SeededRandom {
    return this.#stateOf(kind).random;
  }

  #isAllowed(kind: string, count: number, who: string): boolean {
    const accident = `${kind} ${count}`;
    if (this.#only && !this.#only.has(accident)) return false;
    this.happened.push(accident);
    this.lastAt = this.#world.now;
    this.#world.trace(who, `accident: ${accident}`);
    return true;
  }

  #stateOf(kind: string): { readonly random: SeededRandom; count: number } {
    let state = this.#kinds.get(kind);
    if (!state) this.#kinds.set(kind, (state = { random: this.#world.random(`accident ${kind}`), count: 0 }));
    return state;
  }
}

/** Mostly near the mean, sometimes far from it. */
export function exponential(random: SeededRandom, mean: number): number {
  return -Math.log(1 - random.next()) * mean;
}
