import { AT_ONCE, type PermitReply, type PermitRequest } from '../../../../lib/store/deliveries/permits.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import { RateLog } from './rate-log.js';

/** How long whoever waits may take to come once it is its turn, in milliseconds. */
const GRACE = 100;

/** The same once there is room for it. */
const PATIENCE = 500;

/** A process that has permits, or waits for some. */
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
  #holders: Holder[] = [];
  /** When those that have not come since were told that there is room for them. */
  readonly #toldAt = new Map<string, number>();
  /** The latest answers. */
  readonly #answers = new Map<
    string,
    { readonly sequence: number; readonly reply: PermitReply; readonly at: number }
  >();

  /** @param clock epoch milliseconds, with fractions */
  permit(asked: PermitRequest, clock: number): PermitReply {
    const { session, sequence, limits, wanted, lease, patience } = asked;
    const now = Math.floor(clock);
    const own = this.#holders.find((holder) => holder.session === session && holder.endsAt > now);
    const repeated = this.#repeated(asked, own, clock);
    if (repeated) return repeated;
    this.#toldAt.delete(session);
    const alive = this.#holders.filter(({ endsAt }) => endsAt > now);
    const others = alive
      .filter((holder) => holder.session !== session)
      .flatMap((holder) => withoutLostTurn(holder, now));
    const request = ofWhatIsLeft(asked, own, others);
    const isBehindAll = !own || own.held > 0;
    const position = isBehindAll ? others.length : withoutLostTurns(alive.slice(0, alive.indexOf(own)), now).length;

    const { lead, slack, ahead } = request.begin ?? AT_ONCE;
    const earliest = Math.ceil(clock) + lead;
    const begin = this.#beginOf(request, { earliest, slack });
    const rate = this.#byRate(request, others, { isTurn: isTurnOf(own, begin), begin, now });
    const flight = byFlight(request, others, position, (other) => this.#mayCome(other, now));
    const permitted = Math.min(rate.permitted, flight.permitted);
    const held = limits.inFlight === undefined ? 0 : request.held + Math.max(0, permitted - request.idle);
    const stillWanted = wanted - permitted;
    const permittedAt = limits.rate && permitted > 0 ? this.#log.add(permitted, limits.rate, begin + slack) : 0;
    const waitsForRate = stillWanted > 0 && rate.permitted <= flight.permitted;
    // Whoever asks before its turn keeps it.
    const before = permitted === 0 && own?.turn !== undefined && own.turn > begin ? own.turn : Infinity;
    const turn = waitsForRate ? Math.min(this.#turnBehind(others, request, begin), before) : undefined;
    const mine = { session, sequence, held, endsAt: now + lease, wanted: stillWanted, turn };
    const place = permitted > 0 ? others.length : position;
    this.#holders = others.toSpliced(place, 0, ...(held > 0 || stillWanted > 0 ? [mine] : []));
    const offered = this.#offer(others, mine, limits.inFlight, now);
    const sessions = [...toldOfRate(others, rate.left, begin), ...toldOfFlight(others, mine, limits.inFlight, offered)];
    const offers = turn === undefined ? offered.map((one) => (this.#toldAt.get(one) ?? now) + PATIENCE + 1 - now) : [];
    const waits = [
      patience,
      waitOf(turn, others, { now, from: earliest + ahead }),
      ...offers.filter((time) => time > 0),
    ];
    const wait = stillWanted > 0 ? Math.min(...waits) : undefined;
    const begins = limits.rate && { from: begin, until: begin + slack, lead: begin - Math.ceil(clock) };
    const reply = { permitted, permittedAt, begins, keep: flight.keep, wait, held, sessions };
    this.#answers.set(session, { sequence, reply, at: clock });
    return reply;
  }

  /** The answer to a call that is made again. */
  #repeated({ session, sequence }: PermitRequest, own: Holder | undefined, clock: number): PermitReply | undefined {
    const answered = this.#answers.get(session);
    if (!answered || answered.sequence < sequence) return undefined;
    if (answered.sequence > sequence) {
      throw new BrokerUnavailableError('OUTDATED: a later call of the same process was served');
    }
    return { ...later(answered.reply, clock - answered.at), held: own?.held ?? 0 };
  }

  /** Whether somebody who waits was not told in vain that there is room for it. */
  #mayCome({ session }: Holder, now: number): boolean {
    return now <= (this.#toldAt.get(session) ?? now) + PATIENCE;
  }

  /** Those for whom there is room. What was offered in vain is offered to the next one, too. */
  #offer(others: readonly Holder[], own: Holder, inFlight: number | undefined, now: number): string[] {
    if (inFlight === undefined) return [];
    const { share } = shareOut(inFlight, [own, ...others].map(wishToBeInFlight));
    let room = inFlight - own.held - others.reduce((sum, { held }) => sum + held, 0);
    return others.flatMap((other) => {
      if (!waitsToBeInFlight(other) || room < 1 || other.held >= Math.ceil(Math.min(share, inFlight))) return [];
      if (this.#mayCome(other, now)) room--;
      if (!this.#toldAt.has(other.session)) this.#toldAt.set(other.session, now);
      return [other.session];
    });
  }

  #byRate(
    { limits: { rate }, wanted }: PermitRequest,
    others: readonly Holder[],
    { isTurn, begin, now }: { isTurn: boolean; begin: number; now: number },
  ): { permitted: number; left: number } {
    if (!rate) return { permitted: wanted, left: Infinity };
    const free = Math.max(0, rate.max - this.#log.used(rate, begin, now));
    const wishes = others.filter((other) => isTurnOf(other, begin)).map((other) => other.wanted);
    const { share, left } = shareOut(free, isTurn ? [...wishes, wanted] : wishes);
    if (isTurn) return { permitted: Math.min(wanted, Math.ceil(share)), left };
    const permitted = Math.min(wanted, left);
    return { permitted, left: left - permitted };
  }

  /** Whoever asks early by no more than its slack gets what comes free by then. */
  #beginOf(
    { limits: { rate }, returned }: PermitRequest,
    { earliest, slack }: { earliest: number; slack: number },
  ): number {
    if (!rate) return earliest;
    for (const { permittedAt, count } of returned) this.#log.giveBack(permittedAt, count);
    return this.#log.opensBy(rate, earliest, slack);
  }

  #turnBehind(others: readonly Holder[], { limits: { rate } }: PermitRequest, begin: number): number {
    const waiting = others.filter(({ turn = 0 }) => turn > begin).length;
    return (rate && this.#log.timeOfFree(waiting + 1, rate, begin)) ?? begin + GRACE;
  }
}

/** What a process says that it keeps, if that is over: it has what the others have left. */
function ofWhatIsLeft(request: PermitRequest, own: Holder | undefined, others: readonly Holder[]): PermitRequest {
  if (own) return request;
  const left = (request.limits.inFlight ?? 0) - others.reduce((sum, other) => sum + other.held, 0);
  const held = Math.min(request.held, Math.max(0, left));
  return { ...request, held, idle: Math.max(0, held - (request.held - request.idle)) };
}

function byFlight(
  { limits: { inFlight }, held, idle, wanted }: PermitRequest,
  others: readonly Holder[],
  before: number,
  mayCome: (other: Holder) => boolean,
): { permitted: number; keep: number | undefined } {
  if (inFlight === undefined) return { permitted: wanted, keep: undefined };
  const rivals = others.filter(waitsToBeInFlight);
  const ofOthers = others.reduce((sum, other) => sum + other.held, 0);
  const room = Math.max(0, inFlight - held - ofOthers);
  // A limit that was lowered holds as soon as deliveries end.
  const rest = held + ofOthers > inFlight ? Math.max(0, inFlight - ofOthers) : undefined;
  if (rivals.length === 0) return { permitted: Math.min(wanted, idle + room), keep: rest };
  const { share } = shareOut(inFlight, [held - idle + wanted, ...others.map(wishToBeInFlight)]);
  const most = Math.min(share, inFlight);
  const least = Math.floor(most);
  const isAhead = (other: Holder): boolean => waitsToBeInFlight(other) && other.held === 0 && mayCome(other);
  const ahead = others.slice(0, before).filter(isAhead).length;
  const own = Math.max(0, Math.min(room - ahead, Math.ceil(most) - held));
  const lacks = rivals.some((rival) => rival.held < Math.max(1, least));
  const keep = Math.min(lacks ? least : Infinity, rest ?? Infinity);
  return { permitted: Math.min(wanted, idle + own), keep: keep === Infinity ? undefined : keep };
}

/** Those whose turn is not yet, as far as permits are left all the same. */
function toldOfRate(others: readonly Holder[], left: number, begin: number): string[] {
  if (left === Infinity) return [];
  return others
    .filter(({ turn = 0 }) => turn > begin)
    .slice(0, left)
    .map(({ session }) => session);
}

/** Those for whom there is room; and if this one has too few, those who have too many. */
function toldOfFlight(
  others: readonly Holder[],
  own: Holder,
  inFlight: number | undefined,
  offered: readonly string[],
): string[] {
  if (inFlight === undefined) return [];
  const { share } = shareOut(inFlight, [own, ...others].map(wishToBeInFlight));
  const most = Math.min(share, inFlight);
  const lacks = waitsToBeInFlight(own) && own.held < Math.max(1, Math.floor(most));
  return others
    .filter(({ session, held }) => offered.includes(session) || (lacks && held > Math.floor(most)))
    .map(({ session }) => session);
}

/** Milliseconds until permits come free. */
function waitOf(
  turn: number | undefined,
  others: readonly Holder[],
  { now, from }: { now: number; from: number },
): number {
  if (turn !== undefined) return Math.max(1, turn - from);
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

/** Whoever has not come when it was its turn wants nothing any more. */
function withoutLostTurn(holder: Holder, now: number): Holder[] {
  if (holder.turn === undefined || now <= holder.turn + GRACE) return [holder];
  return holder.held > 0 ? [{ ...holder, wanted: 0, turn: undefined }] : [];
}

function withoutLostTurns(holders: readonly Holder[], now: number): Holder[] {
  return holders.flatMap((holder) => withoutLostTurn(holder, now));
}

/** An answer that is given again. */
function later({ begins, ...reply }: PermitReply, passed: number): PermitReply {
  return { ...reply, sessions: [], begins: begins && { ...begins, lead: begins.lead - passed } };
}
