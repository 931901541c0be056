import type { Reply } from '../driver.interface.js';
import type { Limits } from './limits.js';

/**
 * Window in which deliveries that a rate permits begin, counted from the call that asks for them: by then their process has them at hand.
 * A permit counts until it can no longer begin, so a window holds no more than its limit, however far away Redis is.
 */
export interface BeginWindow {
  /** Earliest begin, in milliseconds after the call. */
  readonly lead: number;
  /** Time after that in which they can begin, in milliseconds. */
  readonly slack: number;
  /** Time by which the next call comes before it can be served, to be there in time; in milliseconds. A call may come that early. */
  readonly ahead: number;
}

/** For a process that is as near as can be. */
export const AT_ONCE: BeginWindow = { lead: 0, slack: 50, ahead: 0 };

/** The longest {@link BeginWindow}, lead and slack together, in milliseconds. */
export const MAX_BEGIN_WINDOW = 60_000;

/** Time at which deliveries can begin, in epoch milliseconds on the local clock. */
export interface Begins {
  readonly from: number;
  readonly until: number;
  /** Time from the server's answer to `from`, in milliseconds; the answer has taken some of it on its way. */
  readonly lead: number;
}

/** Permits of a rate that led to no handler call. */
export interface ReturnedPermits {
  /** Time of the permit, as it was answered. */
  readonly permittedAt: number;
  readonly count: number;
}

/** Number of deliveries that a process wants, and the permits that it has. */
export interface PermitRequest {
  readonly session: string;
  /** Number of the call of the session; one with a number below the latest is refused. */
  readonly sequence: number;
  readonly limits: Limits;
  /** Permits to be in flight that it keeps; all others that it had are free. If they are over, it has as many of them as others have left. */
  readonly held: number;
  /** Number of those that no delivery uses. */
  readonly idle: number;
  /** Deliveries that could begin. */
  readonly wanted: number;
  /** Time after which its permits to be in flight are over, in milliseconds. */
  readonly lease: number;
  /** Time after which it asks again in any case, in milliseconds. */
  readonly patience: number;
  readonly returned: readonly ReturnedPermits[];
  /** Window in which permits of a rate would begin. @defaultValue {@link AT_ONCE} */
  readonly begin?: BeginWindow;
}

export interface PermitReply {
  /** Number of deliveries that can begin; of the permits to be in flight, those that were idle are used first. */
  readonly permitted: number;
  /** Time under which they stand in the log of the rate, to return them. */
  readonly permittedAt: number;
  /** Time at which they can begin, if a rate permits them. */
  readonly begins: Begins | undefined;
  /** Number of permits to be in flight to keep, since others have too few; `undefined` for any. */
  readonly keep: number | undefined;
  /**
   * Number of permits to be in flight that it has now. In the answer to a repeated call, none if they are over by now: then all that the
   * call had permitted is over, too.
   */
  readonly held: number;
  /** Time until it should ask again, in milliseconds from this call; `undefined` if it got what it wanted. */
  readonly wait: number | undefined;
  /** Sessions that should ask now. */
  readonly sessions: readonly string[];
}

// Formats of the answers and records of permits: see `lua/permit.lua`.

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
