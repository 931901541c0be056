import type { Reply } from '../driver.interface.js';
import type { Limits } from './limits.js';

/**
 * When deliveries that a rate permits begin, as long after the call that asks for them: by then their process has them at hand. What is
 * permitted counts until it cannot begin any more, so a window holds no more than its limit, however far Redis is away.
 */
export interface BeginWindow {
  /** The earliest begin, in milliseconds after the call. */
  readonly lead: number;
  /** For how long after that they may begin, in milliseconds. */
  readonly slack: number;
  /** How long before it can be served the next call is to be made, to be there in time; in milliseconds. One may come that early. */
  readonly ahead: number;
}

/** For a process that is as near as can be. */
export const AT_ONCE: BeginWindow = { lead: 0, slack: 50, ahead: 0 };

/** The longest {@link BeginWindow}, lead and slack together, in milliseconds. */
export const MAX_BEGIN_WINDOW = 60_000;

/** When deliveries may begin, in epoch milliseconds on the local clock. */
export interface Begins {
  readonly from: number;
  readonly until: number;
  /** How long after it was answered `from` is, in milliseconds; the answer has taken some of that to come. */
  readonly lead: number;
}

/** Permits of a rate that led to no handler call. */
export interface ReturnedPermits {
  /** As it was answered. */
  readonly permittedAt: number;
  readonly count: number;
}

/** How many deliveries a process wants, and what it has. */
export interface PermitRequest {
  readonly session: string;
  /** Counts the calls of the session; one with a number below the latest is refused. */
  readonly sequence: number;
  readonly limits: Limits;
  /** Permits to be in flight that it keeps; all others it had are free. If they are over, it has of them what others have left. */
  readonly held: number;
  /** How many of those no delivery uses. */
  readonly idle: number;
  /** Deliveries that could begin. */
  readonly wanted: number;
  /** After so long its permits to be in flight are over, in milliseconds. */
  readonly lease: number;
  /** After how long it asks again in any case, in milliseconds. */
  readonly patience: number;
  readonly returned: readonly ReturnedPermits[];
  /** When what is permitted of a rate would begin. @defaultValue {@link AT_ONCE} */
  readonly begin?: BeginWindow;
}

export interface PermitReply {
  /** How many deliveries may begin; of the permits to be in flight, those that were idle are used first. */
  readonly permitted: number;
  /** Under what time they stand in the log of the rate, to return them. */
  readonly permittedAt: number;
  /** When they may begin, if a rate permits them. */
  readonly begins: Begins | undefined;
  /** How many permits to be in flight to keep, since others have too few; `undefined` for any. */
  readonly keep: number | undefined;
  /**
   * How many permits to be in flight it has now. In the answer to a call that is made again, none if they are over by now: then what that call
   * has permitted is over, too.
   */
  readonly held: number;
  /** When to ask again, in milliseconds from when this call was made; `undefined` if it got what it wanted. */
  readonly wait: number | undefined;
  /** Sessions that should ask now. */
  readonly sessions: readonly string[];
}

// What is answered and stored of permits: see `lua/permit.lua`.

/** @param now on the clock that the reply goes by, epoch milliseconds */
export function permitReply(reply: Reply, slack: number, toLocal: (time: number) => number): PermitReply {
  const [permitted, permittedAt, beginsAt, lead, keep, wait, held, sessions] = reply as PermitNumbers;
  const from = toLocal(beginsAt);
  return {
    permitted,
    permittedAt,
    begins: beginsAt === 0 ? undefined : { from, until: from + slack, lead },
    keep: keep < 0 ? undefined : keep,
    wait: wait < 0 ? undefined : wait,
    held,
    sessions: sessions === '' ? [] : sessions.split(' '),
  };
}

type PermitNumbers = readonly [
  permitted: number,
  permittedAt: number,
  beginsAt: number,
  lead: number,
  keep: number,
  wait: number,
  held: number,
  sessions: string,
];

/**
 * @param text as `lua/permit.lua` describes it
 * @param now by the clock of the server, epoch milliseconds
 */
export function waitingForPermits(text: string | null, now: number): ReadonlyMap<string, keyof Limits> {
  const lines = (text ?? '').split('\n').slice(1);
  const processes = lines.filter((line) => !/^[~=]/.test(line));
  const waiting = processes.flatMap((line): [string, keyof Limits][] => {
    const [session = '', , , endsAt, wanted, turn] = line.split(' ');
    const waits = Number(wanted) > 0 && Number(endsAt) > now;
    return waits ? [[session, turn === '0' ? 'inFlight' : 'rate']] : [];
  });
  return new Map(waiting);
}
