import { expect, it } from 'vitest';
import type { ConsumerContext } from '../../../../lib/consumer/consumer-context.js';
import { Delivery } from '../../../../lib/consumer/delivery/delivery.js';
import { Settler } from '../../../../lib/consumer/delivery/settler.js';
import { ACKED, RELEASED } from '../../../../lib/consumer/delivery/verdict.js';
import { tokenOf } from '../../../../lib/store/deliveries/receipt.js';
import { MAX_BATCH } from '../../../../lib/store/partition.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { fakeBroker } from '../../../support/units/fake-broker.js';
import { LEASE, testContext } from '../../../support/units/handling.js';
import { turns } from '../../../support/units/test-claimant.js';

const PARTITION = { topic: 'jobs', index: 0 };

function open(isFinishedKept = false, given: Partial<ConsumerContext> = {}) {
  const clock = new ManualClock();
  const told: string[] = [];
  const broker = fakeBroker({
    deliveries: {
      settle: async (_partition, _call, settlements) => {
        told.push(`settle ${settlements.map(({ storedId }) => storedId).join()}`);
        return settlements.map(() => 'settled');
      },
    },
  });
  const settler = new Settler(testContext({ broker, clock, ...given }), PARTITION, {
    isFinishedKept,
    settled: ({ id }, _verdict, effect) => void told.push(`${id} ${effect}`),
    stale: ({ id }) => void told.push(`${id} stale`),
    done: ({ id }) => void told.push(`${id} done`),
    waits: () => {},
    caughtUp: () => void told.push('caught up'),
  });
  const end = (id: string, verdict = ACKED, operation?: string, lease = LEASE): void => {
    const numbers = { delivery: 1, attempt: 1, weight: 0, dueAt: 0 };
    const claimed = { storedId: id, envelope: '[1,2]', token: tokenOf('epoch', 1), ...numbers };
    settler.settle(new Delivery(PARTITION, claimed, clock.now() + lease), verdict, operation);
  };
  return { settler, clock, told, end };
}

it('leaves to a claim what has succeeded, and sends the rest', async () => {
  const { settler, told, end } = open();
  end('a');
  end('b', RELEASED);
  end('c');

  const along = settler.takeSucceeded();
  expect(along?.receipts).toMatchObject([{ storedId: 'a' }, { storedId: 'c' }]);
  await turns();
  expect(told.splice(0)).toEqual(['settle b', 'b settled', 'b done']);
  expect(settler.unsettled).toBe(2);

  along?.answered(['settled', 'stale']);
  expect(told).toEqual(['a settled', 'a done', 'c stale', 'c done']);
  expect(settler.unsettled).toBe(0);
});

it('sends it itself if the claim has failed', async () => {
  const { settler, told, end } = open();
  end('a');
  settler.takeSucceeded()?.failed();
  await turns();

  expect(told).toEqual(['settle a', 'a settled', 'a done']);
});

it('is idle once the claim was answered', async () => {
  const { settler, told, end } = open();
  end('a');
  const along = settler.takeSucceeded();
  const idle = settler.idle().then(() => told.push('idle'));
  await turns();
  expect(told).toEqual([]);

  along?.answered(['settled']);
  await idle;
  expect(told).toEqual(['a settled', 'a done', 'idle']);
});

it('lets claims go on that were to wait for it, since its lease has ended meanwhile', async () => {
  const { settler, clock, told, end } = open();
  end('a', ACKED, undefined, 10);
  const along = settler.takeSucceeded();
  await clock.advance(10);
  expect(settler.comesFirst).toBe(true);

  along?.answered(['settled']);
  expect(settler.comesFirst).toBe(false);
  expect(told[0]).toBe('caught up');
});

it('takes no more along than one call can have, and no more before that is answered', () => {
  const { settler, end } = open();
  for (let i = 0; i <= MAX_BATCH; i++) end(`m${i}`);
  expect(settler.takeSucceeded()?.receipts).toHaveLength(MAX_BATCH);
  expect(settler.hasSucceeded).toBe(false);
  expect(settler.takeSucceeded()).toBeUndefined();
});

it.each([
  { what: 'finished messages are kept, which are copied in parts', isFinishedKept: true },
  { what: 'middleware has to be called around each settle', settleLayers: [] },
  { what: 'its call has a name, and can be repeated by others', operation: 'name' },
  { what: 'it has not succeeded', verdict: RELEASED },
])('takes nothing along if $what', ({ isFinishedKept, settleLayers, operation, verdict = ACKED }) => {
  const { settler, end } = open(isFinishedKept, settleLayers && { settleLayers });
  end('a', verdict, operation);
  expect(settler.takeSucceeded()).toBeUndefined();
});
