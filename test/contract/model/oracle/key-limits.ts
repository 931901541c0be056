import type { Limits } from '../../../../lib/store/deliveries/limits.js';
import type { BeginWindow } from '../../../../lib/store/deliveries/permits.js';
import { keyOf } from './key-of.js';
import { RateLog } from './rate-log.js';
import { SortedSet } from './sorted-set.js';

/** What every key may have, and when what its rate grants begins. */
export interface KeyTerms extends Limits {
  readonly begin: BeginWindow;
  /** When what is granted begins, epoch milliseconds. */
  readonly beginsAt: number;
}

/** Without a rate whatever is delivered begins at once. */
export const NO_RATE: BeginWindow = { lead: 0, slack: 0, ahead: 0 };

/** What is known of a key. */
interface KeyRecord {
  /** Nothing of it begins before; epoch milliseconds, 0 if it may. */
  restsUntil: number;
  readonly log: RateLog;
}

/** What limits of their key hold back: see `lua/modules/limits.lua` and `lua/modules/key-limits.lua`. */
export class KeyLimits {
  /** Keys of which messages wait, by when to look at them again. */
  readonly #resting = new SortedSet();
  /** By key: the deliveries that count against what may be in flight. */
  readonly #running = new Map<string, Set<string>>();
  readonly #records = new Map<string, KeyRecord>();
  readonly #scheduled: SortedSet;
  /** What is due and held back, by due time. */
  readonly #parked: SortedSet;
  readonly #now: () => number;

  /** @param now epoch milliseconds */
  constructor(scheduled: SortedSet, parked: SortedSet, now: () => number) {
    this.#scheduled = scheduled;
    this.#parked = parked;
    this.#now = now;
  }

  /** Whether nothing is known of any key. */
  isIdle(now: number): boolean {
    this.#forgetOld(now);
    return this.#parked.size + this.#resting.size + this.#running.size + this.#records.size === 0;
  }

  /**
   * What holds for a claim: one that finds nothing due and comes a little early waits for the first key that rests.
   *
   * @param now epoch milliseconds, rounded up
   */
  termsAt(now: number, limits: Limits, window: BeginWindow): KeyTerms {
    const begin = limits.rate ? window : NO_RATE;
    const earliest = now + begin.lead;
    const { score: at = earliest } = this.#resting.first ?? {};
    const { score: dueAt = Infinity } = this.#scheduled.first ?? {};
    const waits = dueAt > this.#now() && at > earliest && at <= earliest + Math.max(begin.slack, begin.ahead);
    return { ...limits, begin, beginsAt: waits ? at : earliest };
  }

  /** When a key is to be looked at again. */
  get nextAt(): number | undefined {
    return this.#resting.first?.score;
  }

  /** Whether a message may begin; takes its place if it may. */
  admits(storedId: string, limits: KeyTerms | undefined, now: number): boolean {
    return this.#free(keyOf(storedId), limits, now) > 0 && this.#room(keyOf(storedId), limits) > 0;
  }

  /** Lets the key of a message rest that is due and may not begin. Returns when it may be claimed. */
  restForRate(storedId: string, limits: KeyTerms | undefined, now: number): number {
    const key = keyOf(storedId);
    const until = this.#nextTime(key, limits, now);
    this.#resting.set(key, until);
    return claimedFrom(until, limits, now);
  }

  /** When a message may begin that may not now by the rate of its key or since that rests; `undefined` if it may. */
  waitsUntil(storedId: string, limits: KeyTerms | undefined, now: number): number | undefined {
    const key = keyOf(storedId);
    return this.#free(key, limits, now) > 0 ? undefined : claimedFrom(this.#nextTime(key, limits, now), limits, now);
  }

  /** @returns under what time the delivery stands in the log of its key */
  began(storedId: string, isFresh: boolean, limits: KeyTerms | undefined, now: number): number | undefined {
    const key = keyOf(storedId);
    if (isFresh && limits?.inFlight !== undefined) getOrAdd(this.#running, key, () => new Set()).add(storedId);
    if (!limits?.rate) return undefined;
    return this.#record(key).log.add(1, limits.rate, beginOf(limits, now) + limits.begin.slack);
  }

  /** Holds a message back that is due. */
  park(storedId: string, due: number, limits: KeyTerms | undefined, now: number): void {
    const key = keyOf(storedId);
    this.#scheduled.delete(storedId);
    this.#parked.set(storedId, due);
    if (this.#free(key, limits, now) <= 0) this.restForRate(storedId, limits, now);
  }

  /**
   * Takes back what was held back of keys that rest and may go on by now.
   *
   * @param most in all
   * @param until keys are looked at whose time has come by then
   * @param take what takes back up to so many messages of a key, and returns how many it has
   */
  wake(
    most: number,
    until: number,
    { limits, now, take }: { limits: KeyTerms | undefined; now: number; take: (key: string, most: number) => number },
  ): void {
    let left = most;
    for (const { member: key } of this.#resting.upTo(until)) {
      const free = this.#free(key, limits, now);
      const room = this.#room(key, limits);
      const mayBegin = Math.min(free, room, left);
      const taken = mayBegin > 0 ? take(key, mayBegin) : 0;
      left -= taken;
      if (taken < mayBegin || room <= mayBegin) this.#resting.delete(key);
      else this.#resting.set(key, free <= mayBegin ? this.#nextTime(key, limits, now) : Math.floor(now));
    }
  }

  /** Takes back up to so many messages of a key that are held back; returns how many. */
  takeBack(key: string, most: number): number {
    const parked = [...this.#parked].filter(({ member }) => keyOf(member) === key).slice(0, most);
    for (const { member, score } of parked) {
      this.#parked.delete(member);
      this.#scheduled.set(member, score);
    }
    return parked.length;
  }

  /** Takes back what a limit would let begin by now, since it has changed. */
  takeBackAllowed(limits: KeyTerms | undefined, now: number): void {
    for (const { member: storedId } of this.#parked.upTo(Infinity)) {
      const key = keyOf(storedId);
      const room = Math.min(this.#room(key, limits), this.#free(key, limits, now));
      if (this.#resting.score(key) === undefined) this.takeBack(key, room);
    }
  }

  /** A message is done, or is to be placed anew; another one of its key may be claimed in its place, unless the key rests. */
  leave(storedId: string): void {
    const key = keyOf(storedId);
    const running = this.#running.get(key);
    running?.delete(storedId);
    if (running?.size === 0) this.#running.delete(key);
    const isParked = this.#parked.delete(storedId);
    if (!isParked && (this.#resting.score(key) ?? 0) <= this.#now()) this.takeBack(key, 1);
  }

  /** Whether the key of this message waits for its rate, or was told to rest. */
  rests(storedId: string): boolean {
    return this.#resting.score(keyOf(storedId)) !== undefined;
  }

  /** Nothing of the key of this message begins before then. */
  rest(storedId: string, until: number): void {
    const key = keyOf(storedId);
    const record = this.#record(key);
    record.restsUntil = Math.max(record.restsUntil, until);
    this.#resting.set(key, record.restsUntil);
  }

  /** A delivery that was no handler call does not count against the rate of its key. */
  giveBack(storedId: string, grantedAt: number, now: number): void {
    const key = keyOf(storedId);
    if (!this.#records.get(key)?.log.giveBack(grantedAt)) return;
    if (this.#resting.score(key) !== undefined) this.#resting.set(key, Math.floor(now));
  }

  #free(key: string, limits: KeyTerms | undefined, now: number): number {
    const record = this.#records.get(key);
    const begin = beginOf(limits, now);
    if (record && record.restsUntil > begin) return 0;
    if (!limits?.rate) return Infinity;
    return Math.max(0, limits.rate.max - (record?.log.used(limits.rate, begin, now) ?? 0));
  }

  #room(key: string, limits: KeyTerms | undefined): number {
    if (limits?.inFlight === undefined) return Infinity;
    return Math.max(0, limits.inFlight - (this.#running.get(key)?.size ?? 0));
  }

  /** When the next one may begin. */
  #nextTime(key: string, limits: KeyTerms | undefined, now: number): number {
    const { restsUntil = 0, log } = this.#records.get(key) ?? {};
    const { slack, ahead } = limits?.begin ?? NO_RATE;
    const begin = beginOf(limits, now);
    if (restsUntil > begin) return restsUntil;
    if (!limits?.rate) return Math.floor(now);
    return (log?.opens(limits.rate, begin, 2 * ahead) ?? begin + slack) + limits.rate.per + 1;
  }

  #record(key: string): KeyRecord {
    return getOrAdd(this.#records, key, () => ({ restsUntil: 0, log: new RateLog() }));
  }

  /** Rates of a day are forgotten late; a test does not care. */
  #forgetOld(now: number): void {
    for (const [key, { restsUntil, log }] of this.#records) {
      if (log.total === 0 && restsUntil <= now) this.#records.delete(key);
    }
  }
}

/** When what may begin then may be claimed; epoch milliseconds. */
function claimedFrom(time: number, limits: KeyTerms | undefined, now: number): number {
  return Math.max(Math.ceil(now), time - (limits?.begin.lead ?? 0));
}

/** When what is granted now begins, epoch milliseconds. */
export function beginOf(limits: KeyTerms | undefined, now: number): number {
  return limits?.beginsAt ?? Math.ceil(now);
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
