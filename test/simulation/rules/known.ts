import type { World } from '../world/world.js';

/** For how long a call that was not confirmed may still take effect, in milliseconds. */
export const STRAGGLES = 60_000;

/** Whoever makes a call. */
export interface Caller {
  readonly isDead: boolean;
  /** When it died, if it has. World time. */
  readonly disturbedAt: number;
}

/** A call that is to change something. */
export interface Change {
  readonly by: Caller;
  /** World time. */
  readonly askedAt: number;
  /** Redis may have forgotten what it did. */
  isDoubtful: boolean;
}

/** What calls have made of something, as far as their callers can tell: of two at a time nobody knows which one came last. */
export class Known<T> {
  /** When it was confirmed. World time. */
  since: number;
  #value: T | undefined;
  readonly #world: World;
  readonly #open = new Set<Change>();
  #endedAt = -Infinity;
  #unsureUntil = -Infinity;

  /** @param value what it is before any call; `undefined`: nobody knows */
  constructor(world: World, value?: T) {
    this.#world = world;
    this.#value = value;
    this.since = world.now;
  }

  /** `undefined`: nobody can be sure. */
  get value(): T | undefined {
    for (const change of this.#open) if (change.by.isDead) this.#straggles(change, change.by.disturbedAt);
    return this.#open.size > 0 || this.#world.now < this.#unsureUntil ? undefined : this.#value;
  }

  get isChanging(): boolean {
    return this.value === undefined && this.#open.size > 0;
  }

  asked(by: Caller): Change {
    const change = { by, askedAt: this.#world.now, isDoubtful: false };
    this.#open.add(change);
    return change;
  }

  confirmed(change: Change, value: T): void {
    this.#open.delete(change);
    const isLast = change.askedAt >= Math.max(this.#endedAt, this.#unsureUntil);
    this.#value = isLast && this.#open.size === 0 && !change.isDoubtful ? value : undefined;
    this.since = this.#endedAt = this.#world.now;
  }

  /** It was said to have changed nothing. */
  without(change: Change): void {
    this.#open.delete(change);
  }

  failed(change: Change): void {
    this.#straggles(change, this.#world.now);
  }

  /** Something else has changed it, too, or may have. */
  forget(): void {
    this.#value = undefined;
    this.#endedAt = this.#world.now;
  }

  /** @param since world time from which on Redis has forgotten what it was told */
  lost(since: number): void {
    for (const change of this.#open) change.isDoubtful = true;
    if (this.since >= since) this.#value = undefined;
  }

  /** Something has happened after which nobody can tell for a while what calls do. */
  doubt(): void {
    this.#unsureUntil = this.#world.now + STRAGGLES;
    this.#value = undefined;
  }

  #straggles(change: Change, from: number): void {
    this.#open.delete(change);
    this.#unsureUntil = Math.max(this.#unsureUntil, from + STRAGGLES);
    this.#value = undefined;
  }
}
