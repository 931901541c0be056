import { expect, it } from 'vitest';
import { type Broker, type CallId, type Settlement, ownerOf } from '../../../lib/broker/broker.interface.js';
import { MemoryBroker } from '../../../lib/broker/memory/memory.broker.js';
import { Delivery } from '../../../lib/consumer/delivery.js';
import { Settler } from '../../../lib/consumer/settler.js';
import { ACKED } from '../../../lib/consumer/verdict.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { testContext } from '../../support/units/handling.js';

const PARTITION = { topic: 'jobs', index: 0 };
const LEASE = 30_000;

it('settles what a process claims after it had given the partition up and has it again', async () => {
  const clock = new ManualClock(1_000_000);
  const broker = new MemoryBroker(clock);
  const context = testContext({ broker, clock });
  const owner = ownerOf('epoch', context.member);
  const messages = ['a', 'b'].map(
    (storedId) => ({ storedId, envelope: '[1,2]', due: { at: 0 }, onDuplicate: 'reject' }) as const,
  );
  await broker.publish(PARTITION, { caller: 'test', sequence: 1 }, messages);
  await broker.acquire(PARTITION, owner, undefined);
  const claimed = await broker.claim(PARTITION, { owner, sequence: 1, delivered: 0, max: 2, lease: LEASE });
  const deliveries = claimed.status === 'not-owner' ? [] : claimed.messages;
  const settled: string[] = [];

  for (const message of deliveries) {
    const settler = new Settler(context, PARTITION, {
      settled: ({ id }) => void settled.push(id),
      done: () => {},
      waits: () => {},
      caughtUp: () => {},
    });
    settler.settle(new Delivery(PARTITION, message, clock.now() + LEASE), ACKED);
    await settler.idle();
  }

  expect(settled).toEqual(['a', 'b']);
  expect(await broker.stats(PARTITION)).toMatchObject({ scheduled: 0, inFlight: 0, dead: 0 });
});

it('sends again what the broker has left for later, under another name, and counts each once', async () => {
  const calls: [CallId, string[]][] = [];
  const broker: Pick<Broker, 'settle'> = {
    settle: async (_partition, call, settlements: readonly Settlement[]) => {
      calls.push([call, settlements.map(({ storedId }) => storedId)]);
      return settlements.map((_, i) => (i === 0 ? 'settled' : 'later'));
    },
  };
  const context = testContext({ broker: broker as Broker });
  const told: string[] = [];
  const settler = new Settler(context, PARTITION, {
    settled: ({ id }) => void told.push(`settled ${id}`),
    done: ({ id }) => void told.push(`done ${id}`),
    waits: () => {},
    caughtUp: () => {},
  });
  for (const storedId of ['a', 'b', 'c']) {
    const claimed = {
      storedId,
      token: `t.${storedId}`,
      delivery: 1,
      attempt: 1,
      weight: 0,
      dueAt: 0,
      envelope: '[1,2]',
    };
    settler.settle(new Delivery(PARTITION, claimed, context.clock.now() + LEASE), ACKED);
  }
  await settler.idle();

  expect(calls.map(([, ids]) => ids)).toEqual([['a', 'b', 'c'], ['b', 'c'], ['c']]);
  expect(new Set(calls.map(([{ sequence }]) => sequence)).size).toBe(3);
  expect(told).toEqual(['settled a', 'settled b', 'settled c', 'done a', 'done b', 'done c']);
  expect(settler.unsettled).toBe(0);
});
