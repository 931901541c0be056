import { describe, expect, it } from 'vitest';
import { type Evidence, adviseOn, causesOf } from '../../../lib/admin/explain-causes.js';
import type { SeenReceiver } from '../../../lib/fleet/receivers.js';

const NOW = 1_000_000;

function receiver(given: Partial<SeenReceiver>): SeenReceiver {
  const idle = { waiting: 0, holding: 0, seenAt: NOW, sessions: ['gateway'], state: 'idle' as const };
  return { topic: 'jobs', consumer: 'worker', ...idle, ...given };
}

/** What is known of a message that is due, in a topic that nobody handles. */
function evidence(given: Partial<Evidence>): Evidence {
  const message = { state: 'scheduled', at: NOW, now: NOW, deliveries: 0, attempts: 0, crashes: 0, before: 0 };
  const place = { topic: 'jobs', id: '1', isKnownTopic: true, meantTopic: undefined, partition: 0 };
  const owner = { owner: undefined, isOwnerAlive: false, ownerState: undefined, ownerWaitsFor: undefined };
  return { ...place, ...owner, message, handlers: [], receivers: [], expiresAt: undefined, ...given } as Evidence;
}

describe('a topic that is received', () => {
  it('has a consumer while somebody is busy, and needs no owner then', () => {
    const busy = evidence({ receivers: [receiver({ holding: 2, state: 'busy' })] });
    expect(causesOf(busy)).toEqual(['behind']);
    expect(adviseOn('behind', busy)).toContain("Nobody waits to receive now: 'worker' has 2 messages.");
  });

  it('needs an owner while somebody waits', () => {
    const waiting = { handlers: ['gateway'], receivers: [receiver({ waiting: 1 })] };
    expect(causesOf(evidence(waiting))).toEqual(['no-owner']);
    expect(adviseOn('behind', evidence(waiting))).toContain("'worker' waits to receive: it is given out at once.");
  });

  it('needs an owner if some process handles it', () => {
    const mixed = { handlers: ['handler'], receivers: [receiver({ holding: 1, state: 'busy' })] };
    expect(causesOf(evidence(mixed))).toEqual(['no-owner']);
  });

  it('has no consumer once all are gone, and it is told who was the last', () => {
    const receivers = [
      receiver({ state: 'gone', seenAt: 0 }),
      receiver({ consumer: 'last', state: 'gone', seenAt: 5 }),
    ];
    expect(causesOf(evidence({ receivers }))).toEqual(['no-consumer', 'no-owner']);
    expect(adviseOn('no-consumer', evidence({ receivers }))).toContain("'last' did so last");
    expect(adviseOn('no-consumer', evidence({}))).toMatch(
      /@DelayedHandler\('jobs'\).*'push' or 'forward'.*receives it/,
    );
  });
});
