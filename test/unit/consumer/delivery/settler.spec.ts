import { expect, it } from 'vitest';
import { ownerOf } from '../../../../lib/store/fleet/owner.js';
import { EmbeddedBroker } from '../../../../lib/engines/embedded/embedded.broker.js';
import { Delivery } from '../../../../lib/consumer/delivery/delivery.js';
import { Settler } from '../../../../lib/consumer/delivery/settler.js';
import { ACKED } from '../../../../lib/consumer/delivery/verdict.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { testContext } from '../../../support/units/handling.js';

const PARTITION = { topic: 'jobs', index: 0 };
const LEASE = 30_000;

it('settles what a process claims after it had given the partition up and has it again', async () => {
  const clock = new ManualClock(1_000_000);
  const broker = new EmbeddedBroker(clock);
  const context = testContext({ broker, clock });
  const owner = ownerOf('epoch', context.session);
  const messages = ['a', 'b'].map(
    (storedId) => ({ storedId, envelope: '[1,2]', due: { at: 0 }, onDuplicate: 'reject' }) as const,
  );
  await broker.messages.publish(PARTITION, { caller: 'test', sequence: 1 }, messages);
  await broker.fleet.acquire(PARTITION, owner, undefined);
  const claimed = await broker.deliveries.claim(PARTITION, { owner, sequence: 1, delivered: 0, max: 2, lease: LEASE });
  const deliveries = claimed.status === 'not-owner' ? [] : claimed.messages;
  const settled: string[] = [];

  for (const message of deliveries) {
    const settler = new Settler(context, PARTITION, {
      settled: ({ id }) => void settled.push(id),
      stale: () => {},
      done: () => {},
      waits: () => {},
      caughtUp: () => {},
    });
    settler.settle(new Delivery(PARTITION, message, clock.now() + LEASE), ACKED);
    await settler.idle();
  }

  expect(settled).toEqual(['a', 'b']);
  expect(await broker.messages.stats(PARTITION)).toMatchObject({ scheduled: 0, inFlight: 0, dead: 0 });
});
