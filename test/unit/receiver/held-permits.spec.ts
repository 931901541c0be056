import { describe, expect, it, vi } from 'vitest';
import type { Broker, StoredMessage } from '../../../lib/broker/broker.interface.js';
import { Delivery } from '../../../lib/consumer/delivery.js';
import { HeldPermits } from '../../../lib/receiver/held-permits.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

const LEASE = 1000;

/** Holds the permit of the first delivery of a message, which is in flight by its `deliveries`-th one when its lease ends. */
async function freedAfter(deliveries: number): Promise<boolean> {
  const clock = new ManualClock(1_000_000);
  const stored = { state: 'in-flight', deliveries, at: clock.now() + 10 * LEASE } as StoredMessage;
  const broker: Partial<Broker> = { get: async () => stored, now: () => clock.now() };
  const held = new HeldPermits({ broker: broker as Broker, clock });
  const claimed = { storedId: 'a', token: '1.1', delivery: 1, attempt: 1, weight: 0, dueAt: 0, envelope: '' };
  const delivery = new Delivery({ topic: 'jobs', index: 0 }, claimed, clock.now() + LEASE);
  const ended = vi.fn<() => void>();
  delivery.permits = { ended } as unknown as Delivery['permits'];
  held.hold(delivery);
  await clock.advance(LEASE);
  await new Promise(setImmediate);
  held.close();
  return ended.mock.calls.length > 0;
}

describe('HeldPermits', () => {
  it('keeps the permit of a delivery whose lease was extended', async () => {
    expect(await freedAfter(1)).toBe(false);
  });

  it('frees the permit of a delivery whose message is in flight by a later one', async () => {
    expect(await freedAfter(2)).toBe(true);
  });
});
