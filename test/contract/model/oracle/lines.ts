import type { TopicOrder } from '../../../../lib/store/fleet/topic-config.js';
import { keyOf } from './key-of.js';
import { KeyLimits, type KeyTerms } from './key-limits.js';
import { SortedSet } from './sorted-set.js';

/** Where a message stands among those of its key. */
interface Place {
  readonly due: number;
  readonly arrival: number;
  /** How often it had been delivered when it was placed. It has begun if it was delivered since. */
  readonly deliveries: number;
}

export interface LinesOptions {
  /** Messages that may be claimed: of each key only the head. */
  readonly scheduled: SortedSet;
  readonly deliveriesOf: (storedId: string) => number;
  /** When a message is due, as its record says. */
  readonly dueOf: (storedId: string) => number | undefined;
  /** Whether the message waits, runs, or is a dead letter that blocks. */
  readonly leads: (storedId: string) => boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Which messages of each key may be claimed: see `lua/modules/order.lua` and `lua/modules/limits.lua`. */
export class Lines {
  /** `limits`: the topic has no order, and limits hold messages back; `undefined`: it has neither. */
  mode: TopicOrder | 'limits' | undefined;
  /** Those that wait behind others of their key, or for its limits. */
  readonly blocked = new SortedSet();
  readonly limits: KeyLimits;
  readonly #options: LinesOptions;
  readonly #heads = new Map<string, string>();
  readonly #places = new Map<string, Place>();
  /** The blocked messages of each key, the next one first. */
  readonly #queues = new Map<string, string[]>();
  #arrivals = 0;

  constructor(options: LinesOptions) {
    this.#options = options;
    this.limits = new KeyLimits(options.scheduled, this.blocked, options.now);
  }

  /** Whether messages of a key are handed out one at a time. */
  get isOrdered(): boolean {
    return this.mode !== undefined && this.mode !== 'limits';
  }

  /** Gives a place to a message that is in no set. */
  lineUp(storedId: string, due: number): void {
    const { scheduled, deliveriesOf, leads } = this.#options;
    if (this.isOrdered) {
      const key = keyOf(storedId);
      const head = this.#heads.get(key);
      this.#places.set(storedId, { due, arrival: ++this.#arrivals, deliveries: deliveriesOf(storedId) });
      if (head !== undefined && head !== storedId && leads(head)) {
        if (!this.#isOvertaken(head, due)) return this.#block(storedId);
        scheduled.delete(head);
        this.#block(head);
      }
      this.#heads.set(key, storedId);
    }
    scheduled.set(storedId, due);
  }

  /** Takes a message out of the order of its key: it is done, or is to be placed anew. */
  leave(storedId: string): void {
    if (this.mode === 'limits') return this.limits.leave(storedId);
    const key = keyOf(storedId);
    if (this.#heads.get(key) === storedId) this.#promote(key);
    else if (this.blocked.delete(storedId)) this.#unqueue(key, storedId);
    this.#places.delete(storedId);
  }

  /** Takes back what limits have held back and allow by now, of keys whose time to be looked at has come until then. */
  wake(most: number, until: number, limits: KeyTerms | undefined, now: number): void {
    const take = (key: string, count: number): number =>
      this.isOrdered ? this.#takeBackHead(key) : this.limits.takeBack(key, count);
    this.limits.wake(most, until, { limits, now, take });
  }

  /** There are no limits of keys any more: once they hold nothing back, the topic is like any other. */
  forgetLimits(now: number): void {
    if (this.mode === 'limits' && this.limits.isIdle(now)) this.mode = undefined;
  }

  /** The message that has to be done before this one. */
  blockerOf(storedId: string): string | undefined {
    return this.blocked.score(storedId) === undefined ? undefined : this.#heads.get(keyOf(storedId));
  }

  /** The head of an ordered key is due when it was, and not when a limit was to let it begin. */
  #takeBackHead(key: string): number {
    const head = this.#heads.get(key);
    const score = head === undefined ? undefined : this.#options.scheduled.score(head);
    if (head === undefined || score === undefined) return 0;
    this.#options.scheduled.set(head, this.#options.dueOf(head) ?? score);
    return 1;
  }

  #isOvertaken(head: string, due: number): boolean {
    const { scheduled, deliveriesOf } = this.#options;
    const place = this.#places.get(head) as Place;
    return due < place.due && scheduled.score(head) !== undefined && deliveriesOf(head) === place.deliveries;
  }

  #promote(key: string): void {
    const next = this.#queues.get(key)?.[0];
    if (next === undefined) {
      this.#heads.delete(key);
      return;
    }
    this.#unqueue(key, next);
    this.blocked.delete(next);
    this.#heads.set(key, next);
    this.#options.scheduled.set(next, (this.#places.get(next) as Place).due);
  }

  #block(storedId: string): void {
    const key = keyOf(storedId);
    const place = this.#places.get(storedId) as Place;
    this.blocked.set(storedId, place.due);
    const queue = this.#queues.get(key) ?? [];
    this.#queues.set(key, queue);
    const behind = queue.findIndex((other) => comesBefore(place, this.#places.get(other) as Place));
    queue.splice(behind === -1 ? queue.length : behind, 0, storedId);
  }

  #unqueue(key: string, storedId: string): void {
    const left = (this.#queues.get(key) ?? []).filter((other) => other !== storedId);
    if (left.length > 0) this.#queues.set(key, left);
    else this.#queues.delete(key);
  }
}

function comesBefore(a: Place, b: Place): boolean {
  return a.due === b.due ? a.arrival < b.arrival : a.due < b.due;
}
