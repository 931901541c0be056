import { expect, it } from 'vitest';
import { FleetView } from '../../../lib/fleet/fleet-view.js';
import type { SessionRecord } from '../../../lib/store/fleet/sessions.js';
import { PROTOCOL_VERSION } from '../../../lib/store/fleet/topic-config.js';
import { FleetBed } from '../../support/units/fleet-bed.js';
import { HEARTBEAT } from '../../support/units/handling.js';

const LENGTH = 2 * HEARTBEAT;

/** A process of the version before, which does not say what it speaks. */
const OLD = { session: 'old', length: LENGTH, digest: 'd' };

/** A view that looks once a heartbeat, whose process has joined beside an old one that is renewed. */
function besideOld() {
  const view = new FleetView({ id: 'me', digest: 'd' }, { heartbeat: HEARTBEAT, length: LENGTH });
  let now = 0;
  const look = (old: Partial<SessionRecord>): string => {
    const later = { session: 'later', count: now, at: now, length: LENGTH, digest: 'd', left: false };
    const records = [
      { ...later, protocol: PROTOCOL_VERSION + 1 },
      { ...OLD, count: 0, at: 0, left: false, ...old },
    ];
    view.observe(records, now, now);
    now += HEARTBEAT;
    return view.agreement;
  };
  expect(view.agreement).toBe('unknown');
  expect([look({ count: 1 }), look({ count: 2 }), look({ count: 3 })]).toEqual(['apart', 'apart', 'apart']);
  return look;
}

it('a fleet is alike once a process of the version before has left, and settled a whole session later', () => {
  const look = besideOld();
  expect([1, 2, 3].map(() => look({ count: 3, left: true }))).toEqual(['alike', 'settled', 'settled']);
  expect(look({ count: 4 })).toBe('apart');
  expect(look({ count: 4, left: true })).toBe('alike');
});

it('a fleet is alike once the session of a process of the version before has ended', () => {
  const look = besideOld();
  expect([1, 2, 3].map(() => look({ count: 3 }))).toEqual(['apart', 'alike', 'settled']);
});

it('a session says which protocol it speaks, and knows who cannot handle a topic', async () => {
  const bed = new FleetBed();
  const me = bed.process('me');
  await me.session.start();
  const [own] = await bed.broker.fleet.sessions();
  expect([own?.protocol, me.session.agreement]).toEqual([PROTOCOL_VERSION, 'alike']);

  await bed.broker.fleet.heartbeat({ ...OLD, count: 1, digest: own?.digest ?? '' });
  await bed.clock.advance(HEARTBEAT);
  expect(me.session.agreement).toBe('apart');
  expect([2, 3].map((spoken) => me.session.handlersOf('jobs', spoken))).toEqual([['me', 'old'], ['me']]);
});
