import type { Limits, PermitReply } from '../broker.interface.js';
import type { Reply } from './script-runner.js';

// What is answered and stored of permits: see `lua/permit.lua`.

export function permitReply(reply: Reply): PermitReply {
  const [permitted, permittedAt, keep, wait, sessions] = reply as readonly [number, number, number, number, string];
  return {
    permitted,
    permittedAt,
    keep: keep < 0 ? undefined : keep,
    wait: wait < 0 ? undefined : wait,
    sessions: sessions === '' ? [] : sessions.split(' '),
  };
}

/**
 * @param text as `lua/permit.lua` describes it
 * @param time of the server, in seconds and microseconds
 */
export function waitingForPermits(
  text: string | null,
  [seconds]: readonly (number | string)[],
): ReadonlyMap<string, keyof Limits> {
  const lines = (text ?? '').split('\n').slice(1);
  const waiting = lines.flatMap((line): [string, keyof Limits][] => {
    const [session = '', , , endsAt, wanted, turn] = line.split(' ');
    const waits = Number(wanted) > 0 && Number(endsAt) > Number(seconds) * 1000;
    return waits ? [[session, turn === '0' ? 'inFlight' : 'rate']] : [];
  });
  return new Map(waiting);
}
