import { expect, it } from 'vitest';
import { KnownReceivers } from '../../../../lib/consumer/pulling/known-receivers.js';
import { seenReceivers } from '../../../../lib/fleet/receivers.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

const MINUTE = 60_000;

function setUp() {
  const clock = new ManualClock(0);
  const seen: string[] = [];
  const known = new KnownReceivers({ clock, now: () => clock.now(), onNew: () => void seen.push('new') });
  return { clock, known, seen };
}

it('whoever waits, has messages, or did so lately is told of; whoever is new, at once', async () => {
  const { clock, known, seen } = setUp();
  const end = known.begin('jobs', 'a');
  known.begin('mails', 'a');
  expect(seen).toHaveLength(2);
  expect(known.told).toEqual([
    { topic: 'jobs', consumer: 'a', waiting: 1, holding: 0 },
    { topic: 'mails', consumer: 'a', waiting: 1, holding: 0 },
  ]);
  end();
  known.took('jobs', 'a', ['1', '2', '3'], 2 * MINUTE);
  known.lasts('1', 0);
  known.lasts('2', 10 * MINUTE);
  await clock.advance(MINUTE);
  expect(known.told).toContainEqual({ topic: 'jobs', consumer: 'a', waiting: 0, holding: 2, seenAt: 0 });
  await clock.advance(MINUTE);
  expect(known.told).toContainEqual({ topic: 'jobs', consumer: 'a', waiting: 0, holding: 1, seenAt: 0 });
  await clock.advance(8 * MINUTE);
  expect(known.told).toContainEqual({ topic: 'jobs', consumer: 'a', waiting: 0, holding: 0, seenAt: 0 });
  await clock.advance(5 * MINUTE);
  expect(known.told.map(({ topic }) => topic)).toEqual(['mails']);
  known.begin('jobs', 'a');
  expect(seen).toHaveLength(2);
});

it('of many names those are told that wait or have messages', () => {
  const { known } = setUp();
  known.begin('jobs', 'patient');
  for (let n = 0; n < 5000; n++) known.begin('jobs', `once-${n}`)();
  expect(known.told).toHaveLength(100);
  expect(known.told[0]).toMatchObject({ consumer: 'patient', waiting: 1 });
});

it('what several processes tell of one receiver is put together', () => {
  const told = [
    { session: 'x', receivers: [{ topic: 'jobs', consumer: 'a', waiting: 0, holding: 2, seenAt: 10 }] },
    { session: 'y', receivers: [{ topic: 'jobs', consumer: 'a', waiting: 1, holding: 0 }] },
    { session: 'z', receivers: [{ topic: 'jobs', consumer: 'b', waiting: 0, holding: 0, seenAt: 50 }] },
    { session: 'old', receivers: undefined },
  ];
  expect(seenReceivers(told, MINUTE)).toEqual([
    { topic: 'jobs', consumer: 'a', waiting: 1, holding: 2, seenAt: MINUTE, sessions: ['x', 'y'], state: 'busy' },
    { topic: 'jobs', consumer: 'b', waiting: 0, holding: 0, seenAt: 50, sessions: ['z'], state: 'gone' },
  ]);
  expect(seenReceivers(told, 20_000)[1]?.state).toBe('idle');
});
