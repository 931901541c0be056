import type { Limits, PermitReply } from '../broker.interface.js';
import type { Reply } from '../driver.interface.js';

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
