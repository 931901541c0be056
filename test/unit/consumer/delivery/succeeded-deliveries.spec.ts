import { expect, it } from 'vitest';
import type { ConsumerContext } from '../../../../lib/consumer/consumer-context.js';
import { Delivery } from '../../../../lib/consumer/delivery/delivery.js';
import { Settler } from '../../../../lib/consumer/delivery/settler.js';
import { ACKED, RELEASED, type Verdict } from '../../../../lib/consumer/delivery/verdict.js';
import { tokenOf } from '../../../../lib/store/deliveries/receipt.js';
import { MAX_BATCH } from '../../../../lib/store/partition.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { fakeBroker } from '../../../support/units/fake-broker.js';
import { LEASE, testContext } from '../../../support/units/handling.js';
import { type BenchOptions, RunBed } from '../../../support/units/run-bed.js';
import { turns } from '../../../support/units/test-claimant.js';

const PARTITION = { topic: 'jobs', index: 0 };

function open(isFinishedKept = false, given: Partial<ConsumerContext> = {}, claimsIn = Infinity) {
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
  let planned = claimsIn;
  const settler = new Settler(testContext({ broker, clock, ...given }), PARTITION, {
    isFinishedKept,
    get claimsIn() {
      return planned;
    },
    settled: ({ id }, _verdict, effect) => void told.push(`${id} ${effect}`),
    stale: ({ id }) => void told.push(`${id} stale`),
    done: ({ id }) => void told.push(`${id} done`),
    waits: () => {},
    caughtUp: () => void told.push('caught up'),
  });
  const end = (id: string, verdict: Verdict = ACKED, operation?: string, lease = LEASE): void => {
    const numbers = { delivery: 1, attempt: 1, weight: 0, dueAt: 0 };
    const claimed = { storedId: id, envelope: '[1,2]', token: tokenOf('epoch', 1), ...numbers };
    settler.settle(new Delivery(PARTITION, claimed, clock.now() + lease), verdict, operation);
  };
  return { settler, clock, told, end, plan: (time: number) => void (planned = time) };
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

const SOON = 20;

it('waits for a claim that comes soon, and does not wait on if it does not come', async () => {
  const { settler, clock, told, end } = open(false, {}, SOON);
  end('a');
  await turns();
  await clock.advance(SOON - 1);
  end('b');
  await turns();
  expect(told).toEqual([]);
  expect(settler.unsettled).toBe(2);

  await clock.advance(1);
  await turns(3);
  expect(told.splice(0)).toEqual(['settle a,b', 'a settled', 'b settled', 'a done', 'b done']);
  // The next one waits for as long.
  end('c');
  await turns();
  await clock.advance(SOON - 1);
  expect(told).toEqual([]);
});

it('waits anew once a claim has taken along what has waited', async () => {
  const { settler, clock, told, end } = open(false, {}, 0);
  end('a');
  await turns();
  await clock.advance(SOON - 1);
  const along = settler.takeSucceeded();
  end('b');
  along?.answered(['settled']);
  await turns();
  await clock.advance(SOON - 1);
  expect(told).toEqual(['a settled', 'a done']);

  await clock.advance(1);
  await turns(3);
  expect(told.slice(2)).toEqual(['settle b', 'b settled', 'b done']);
});

it('does not wait on once a claim was answered and no other comes soon', async () => {
  const { settler, told, end, plan } = open(false, {}, 0);
  end('a');
  const along = settler.takeSucceeded();
  end('b');
  await turns();
  expect(told).toEqual([]);

  plan(Infinity);
  along?.answered(['settled']);
  await turns(3);
  expect(told).toEqual(['a settled', 'a done', 'settle b', 'b settled', 'b done']);
});

it.each([
  { what: 'no claim comes soon', claimsIn: SOON + 1 },
  { what: 'another outcome has to be sent anyway', verdict: RELEASED },
  { what: 'its lease ends', lease: 0 },
  { what: 'no claim takes it along', isFinishedKept: true },
])('does not wait if $what', async ({ claimsIn = 0, verdict, lease, isFinishedKept }) => {
  const { told, end } = open(isFinishedKept, {}, claimsIn);
  end('a', ACKED, undefined, lease);
  if (verdict) end('b', verdict);
  await turns();
  expect(told[0]).toBe(verdict ? 'settle a,b' : 'settle a');
});

it('does not wait if its end is waited for', async () => {
  const { settler, told, end } = open(false, {}, 0);
  end('a');
  await settler.idle();
  expect(told).toEqual(['settle a', 'a settled', 'a done']);
});

it.each<{ what: string; options: BenchOptions; waits: boolean }>([
  { what: 'of a plain topic waits', options: {}, waits: true },
  { what: 'that the next one of its key waits for is sent', options: { order: 'continue' }, waits: false },
  { what: 'that others of its topic wait for is sent', options: { limits: { inFlight: { topic: 1 } } }, waits: false },
  { what: 'that others of its key may wait for is sent', options: { limits: { inFlight: { key: 1 } } }, waits: false },
  { what: 'of a receiver, who waits for it, is sent', options: { settlesEach: true }, waits: false },
])('an ack $what while a claim comes soon', async ({ options, waits }) => {
  const bed = new RunBed({ ...options, handle: () => {} });
  bed.own();
  await turns();
  bed.signal({ kind: 'due', at: bed.clock.now() + SOON });
  bed.sent.splice(0);
  bed.take('a');
  await turns(3);
  expect(bed.sent).toEqual(waits ? [] : ['settle']);

  await bed.clock.advance(SOON);
  await turns(3);
  expect(bed.sent).toEqual(waits ? ['claim'] : ['settle', 'claim']);
  expect(await bed.outcomes()).toEqual([['a', 'ack']]);
});
