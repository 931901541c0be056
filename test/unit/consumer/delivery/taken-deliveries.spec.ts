import { expect, it, vi } from 'vitest';
import { Delivery } from '../../../../lib/consumer/delivery/delivery.js';
import type { Settler } from '../../../../lib/consumer/delivery/settler.js';
import { TakenDeliveries } from '../../../../lib/consumer/delivery/taken-deliveries.js';
import { ACKED, RELEASED } from '../../../../lib/consumer/delivery/verdict.js';
import { collectGarbage } from '../../../support/collect-garbage.js';
import { LEASE, testHandling } from '../../../support/units/handling.js';
import { eventually } from '../../../support/waiting.js';

const PARTITION = { topic: 'jobs', index: 0 };

function bed() {
  const handling = testHandling();
  const settle = vi.fn<Settler['settle']>();
  const taken = new TakenDeliveries(handling, PARTITION, { settle } as unknown as Settler);
  const add = (token: string, weight = 0): Delivery => {
    const claimed = { storedId: 'a', token, delivery: 1, attempt: 1, weight, dueAt: 0, envelope: '' };
    const delivery = new Delivery(PARTITION, claimed, handling.context.clock.now() + LEASE);
    taken.add(delivery);
    return delivery;
  };
  return { taken, add, settle };
}

it('takes the first verdict on a delivery, as when it is given back while it is settled', async () => {
  const { taken, add, settle } = bed();
  const delivery = add('epoch.1');
  const first = taken.settle(delivery, ACKED);
  expect(await taken.settle(delivery, RELEASED)).toBe('stale');
  taken.answered(delivery, 'settled');
  expect(await first).toBe('settled');
  expect(settle.mock.calls).toEqual([[delivery, ACKED, undefined]]);
});

it('keeps nothing of what others settle, once nobody here has it any more', async () => {
  const { taken, add } = bed();
  for (let n = 0; n < 100; n++) add(`epoch.${n}`);
  // Others wait for a suspect.
  add('epoch.suspect', 1);
  expect(taken.size).toBe(101);
  await eventually(async () => {
    await collectGarbage();
    expect(taken.size).toBe(1);
  });
});
