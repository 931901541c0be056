import type { Limits, PermitReply, PermitRequest } from '../broker.interface.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { RateLog } from './rate-log.js';

/** How long whoever waits may take to come once it is its turn, in milliseconds. */
const GRACE = 100;

/** A process that has asked within its lease. */
interface Holder {
  readonly session: string;
  readonly sequence: number;
  /** Permits to be in flight. */
  readonly held: number;
  /** Until when they are its own. */
  readonly endsAt: number;
  readonly wanted: number;
  /** When it is its turn; `undefined` if it waits to be in flight. */
  readonly turn: number | undefined;
}

/** Who has how many permits of a topic: see `lua/permit.lua`. */
export class Permits {
  readonly #log = new RateLog();
  /** Those that wait or have permits, in the order in which they wait; then those of which only the sequence is of use. */
  #holders: Holder[] = [];

  /** @param clock epoch milliseconds, with fractions */
  permit(request: PermitRequest, clock: number): PermitReply {
    const { session, sequence, limits, wanted, lease, patience } = request;
    const now = Math.floor(clock);
    const own = this.#holders.find((holder) => holder.session === session && holder.endsAt > now);
    if (own && own.sequence >= sequence) {
      throw new BrokerUnavailableError('OUTDATED: a later call of the same process was served');
    }
    const alive = this.#holders.filter(({ endsAt }) => endsAt > now);
    const rest = alive.filter((holder) => holder.session !== session).map((holder) => withoutLostTurn(holder, now));
    const others = rest.filter(waitsOrHolds);
    const isBehindAll = !own || own.held > 0;
    const position = isBehindAll ? others.length : rest.slice(0, alive.indexOf(own)).filter(waitsOrHolds).length;

    const rate = this.#byRate(request, others, isTurnOf(own, now), clock);
    const flight = byFlight(request, others, position);
    const permitted = Math.min(rate.permitted, flight.permitted);
    const held = limits.inFlight === undefined ? 0 : request.held + Math.max(0, permitted - request.idle);
    const stillWanted = wanted - permitted;
    const permittedAt = limits.rate && permitted > 0 ? this.#log.add(permitted, limits.rate, clock) : 0;
    const waitsForRate = stillWanted > 0 && rate.permitted <= flight.permitted;
    const behind = waitsForRate ? this.#turnBehind(others, request, now) : undefined;
    // Whoever asks before its turn keeps it.
    const before = permitted === 0 && own?.turn !== undefined && own.turn > now ? own.turn : Infinity;
    const turn = behind === undefined ? undefined : Math.min(behind, before);
    const mine = { session, sequence, held, endsAt: now + lease, wanted: stillWanted, turn };
    const place = permitted > 0 ? others.length : position;
    this.#holders = [...others.toSpliced(place, 0, mine), ...rest.filter((holder) => !waitsOrHolds(holder))];
    const sessions = [...toldOfRate(others, rate.left, now), ...toldOfFlight(others, mine, limits.inFlight)];
    const wait = stillWanted > 0 ? Math.min(patience, waitOf(turn, others, now)) : undefined;
    return { permitted, permittedAt, keep: flight.keep, wait, sessions };
  }

  /** Who waits, and for which limit. */
  waiting(clock: number): Map<string, keyof Limits> {
    const waiting = this.#holders.filter(({ endsAt, wanted }) => endsAt > Math.floor(clock) && wanted > 0);
    return new Map(waiting.map(({ session, turn }) => [session, turn === undefined ? 'inFlight' : 'rate']));
  }

  #byRate(
    { limits: { rate }, wanted, returned }: PermitRequest,
    others: readonly Holder[],
    isTurn: boolean,
    clock: number,
  ): { permitted: number; left: number } {
    if (!rate) return { permitted: wanted, left: Infinity };
    const now = Math.floor(clock);
    this.#log.used(rate, clock);
    for (const { permittedAt, count } of returned) this.#log.giveBack(permittedAt, count);
    const free = Math.max(0, rate.max - this.#log.used(rate, clock));
    const wishes = others.filter((other) => isTurnOf(other, now)).map((other) => other.wanted);
    const { share, left } = shareOut(free, isTurn ? [...wishes, wanted] : wishes);
    if (isTurn) return { permitted: Math.min(wanted, Math.ceil(share)), left };
    const permitted = Math.min(wanted, left);
    return { permitted, left: left - permitted };
  }

  #turnBehind(others: readonly Holder[], { limits: { rate } }: PermitRequest, now: number): number {
    const waiting = others.filter(({ turn = 0 }) => turn > now).length;
    return (rate && this.#log.timeOfFree(waiting + 1, rate)) ?? now + GRACE;
  }
}

function byFlight(
  { limits: { inFlight }, held, idle, wanted }: PermitRequest,
  others: readonly Holder[],
  before: number,
): { permitted: number; keep: number | undefined } {
  if (inFlight === undefined) return { permitted: wanted, keep: undefined };
  const rivals = others.filter(waitsToBeInFlight);
  const room = Math.max(0, inFlight - held - others.reduce((sum, other) => sum + other.held, 0));
  if (rivals.length === 0) return { permitted: Math.min(wanted, idle + room), keep: undefined };
  const { share } = shareOut(inFlight, [held - idle + wanted, ...others.map(wishToBeInFlight)]);
  const most = Math.min(share, inFlight);
  const least = Math.floor(most);
  const ahead = others.slice(0, before).filter((other) => waitsToBeInFlight(other) && other.held === 0).length;
  const own = Math.max(0, Math.min(room - ahead, Math.ceil(most) - held));
  const lacks = rivals.some((rival) => rival.held < Math.max(1, least));
  return { permitted: Math.min(wanted, idle + own), keep: lacks ? least : undefined };
}

/** Those whose turn is not yet, as far as permits are left all the same. */
function toldOfRate(others: readonly Holder[], left: number, now: number): string[] {
  if (left === Infinity) return [];
  return others
    .filter(({ turn = 0 }) => turn > now)
    .slice(0, left)
    .map(({ session }) => session);
}

/** Those for whom there is room; and if this one has too few, those who have too many. */
function toldOfFlight(others: readonly Holder[], own: Holder, inFlight: number | undefined): string[] {
  if (inFlight === undefined) return [];
  const { share } = shareOut(inFlight, [own, ...others].map(wishToBeInFlight));
  const most = Math.min(share, inFlight);
  const lacks = waitsToBeInFlight(own) && own.held < Math.max(1, Math.floor(most));
  let room = inFlight - own.held - others.reduce((sum, { held }) => sum + held, 0);
  return others.flatMap((other) => {
    const hasRoom = waitsToBeInFlight(other) && room >= 1 && other.held < Math.ceil(most);
    if (hasRoom) room--;
    return hasRoom || (lacks && other.held > Math.floor(most)) ? [other.session] : [];
  });
}

/** Milliseconds until permits come free. */
function waitOf(turn: number | undefined, others: readonly Holder[], now: number): number {
  if (turn !== undefined) return Math.max(1, turn - now);
  const ends = others.filter(({ held }) => held > 0).map(({ endsAt }) => Math.max(1, endsAt - now + 1));
  return Math.min(Infinity, ...ends);
}

/** How many each gets at most of those who want so much, and how many are left once all have what they want. */
function shareOut(amount: number, wishes: readonly number[]): { share: number; left: number } {
  let left = amount;
  let count = wishes.length;
  for (const wish of wishes.toSorted((a, b) => a - b)) {
    if (wish * count > left) return { share: left / count, left: 0 };
    left -= wish;
    count--;
  }
  return { share: Infinity, left };
}

function isTurnOf(holder: Holder | undefined, now: number): boolean {
  return holder?.turn !== undefined && holder.wanted > 0 && holder.turn <= now;
}

function waitsToBeInFlight({ wanted, turn }: Holder): boolean {
  return wanted > 0 && turn === undefined;
}

function wishToBeInFlight(holder: Holder): number {
  return holder.held + (waitsToBeInFlight(holder) ? holder.wanted : 0);
}

function waitsOrHolds({ held, wanted }: Holder): boolean {
  return held > 0 || wanted > 0;
}

/** Whoever has not come when it was its turn wants nothing any more. */
function withoutLostTurn(holder: Holder, now: number): Holder {
  const isLost = holder.turn !== undefined && now > holder.turn + GRACE;
  return isLost ? { ...holder, wanted: 0, turn: undefined } : holder;
}
