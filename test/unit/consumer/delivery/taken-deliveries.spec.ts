import { expect, it } from 'vitest';
import { Delivery } from '../../../../lib/consumer/delivery/delivery.js';
import { Settler } from '../../../../lib/consumer/delivery/settler.js';
import { TakenDeliveries } from '../../../../lib/consumer/delivery/taken-deliveries.js';
import { collectGarbage } from '../../../support/collect-garbage.js';
import { LEASE, testHandling } from '../../../support/units/handling.js';
import { eventually } from '../../../support/waiting.js';

it('keeps nothing of what others settle, once nobody here has it any more', async () => {
  const handling = testHandling();
  const { context } = handling;
  const partition = { topic: 'jobs', index: 0 };
  const settler = new Settler(context, partition, { settled() {}, stale() {}, done() {}, waits() {} } as never);
  const taken = new TakenDeliveries(handling, partition, settler);
  const add = (token: string, weight = 0): void => {
    const claimed = { storedId: 'a', token, delivery: 1, attempt: 1, weight, dueAt: 0, envelope: '' };
    taken.add(new Delivery(partition, claimed, context.clock.now() + LEASE));
  };
  for (let n = 0; n < 100; n++) add(`epoch.${n}`);
  // Others wait for a suspect.
  add('epoch.suspect', 1);
  expect(taken.size).toBe(101);
  await eventually(async () => {
    await collectGarbage();
    expect(taken.size).toBe(1);
  });
});
