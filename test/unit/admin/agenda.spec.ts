import { describe, expect, it } from 'vitest';
import { MAX_DUE_TIMES } from '../../../lib/store/messages/partition-counts.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { partitionOf } from '../../../lib/messages/partitioner.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { message } from '../../support/broker/broker-bed.js';
import { testAdmin } from '../../support/units/admin.js';

const NOW = 1_700_000_000_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function open(topics: Readonly<Record<string, number>> = { orders: 8 }) {
  const clock = new ManualClock(NOW);
  const broker = new EmbeddedBroker(clock);
  for (const [topic, partitions] of Object.entries(topics)) await broker.fleet.configure(topic, partitions);
  const asked: number[] = [];
  let underWay = 0;
  const countDue = broker.messages.countDue.bind(broker.messages);
  broker.messages.countDue = async (partition, times) => {
    asked.push(++underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay--;
    return countDue(partition, times);
  };
  let sequence = 0;
  return {
    admin: testAdmin(broker, clock),
    /** How many calls were under way, for each one. */
    asked,
    publish: async (at: number, topic = 'orders') => {
      const id = `m${++sequence}`;
      const partition = { topic, index: partitionOf(id, topics[topic] ?? 8) };
      await broker.messages.publish(partition, { caller: 'test', sequence }, [message(id, { due: { at } })]);
    },
  };
}

describe('agenda', () => {
  it('has each message that waits in exactly one place, over all partitions', async () => {
    const { admin, publish } = await open();
    const dues = [NOW - HOUR, NOW - 1, NOW, NOW + MINUTE - 1, NOW + MINUTE, NOW + HOUR - 1, NOW + HOUR, NOW + 9 * HOUR];
    for (const due of dues) await publish(due);
    const { buckets, topics, ...rest } = await admin.agenda('orders');

    expect(rest).toEqual({
      from: new Date(NOW),
      to: new Date(NOW + HOUR),
      scheduled: 8,
      overdue: 3,
      earlier: 2,
      later: 2,
      unreachable: [],
    });
    expect(buckets).toHaveLength(60);
    expect(buckets.map(({ count }) => count)).toEqual([2, 1, ...Array.from({ length: 57 }, () => 0), 1]);
    expect(buckets.slice(0, 2)).toMatchObject([
      { from: new Date(NOW), to: new Date(NOW + MINUTE) },
      { from: new Date(NOW + MINUTE), to: new Date(NOW + 2 * MINUTE) },
    ]);
    expect(topics).toMatchObject([{ topic: 'orders', scheduled: 8, overdue: 3, earlier: 2, later: 2 }]);
  });

  it('tells of a range in the past what is overdue all the same', async () => {
    const { admin, publish } = await open();
    for (const due of [NOW - 3 * HOUR, NOW - 90 * MINUTE, NOW - MINUTE, NOW + MINUTE]) await publish(due);
    const range = { from: new Date(NOW - 2 * HOUR), to: NOW - HOUR, buckets: 2 };

    expect(await admin.agenda('orders', range)).toMatchObject({
      scheduled: 4,
      overdue: 3,
      earlier: 1,
      buckets: [{ count: 0 }, { count: 1 }],
      later: 2,
    });
  });

  it('cuts a range that cannot be cut evenly into parts without gaps', async () => {
    const { admin, publish } = await open();
    for (let due = NOW; due < NOW + 10; due++) await publish(due);
    const { buckets } = await admin.agenda('orders', { from: NOW, to: NOW + 10, buckets: 3 });

    expect(buckets.map(({ from, to, count }) => [Number(from) - NOW, Number(to) - NOW, count])).toEqual([
      [0, 3, 3],
      [3, 7, 4],
      [7, 10, 3],
    ]);
  });

  it('without a topic is that of all, each in its own words, with few calls at a time', async () => {
    const { admin, publish, asked } = await open({ orders: 8, mails: 3, empty: 1000 });
    await publish(NOW + 1, 'orders');
    await publish(NOW + 1, 'mails');
    await publish(NOW - 1, 'mails');
    const { scheduled, overdue, buckets, topics } = await admin.agenda(undefined, { buckets: 1 });

    expect([scheduled, overdue, buckets[0]?.count]).toEqual([3, 1, 2]);
    expect(topics).toEqual([
      { topic: 'mails', scheduled: 2, overdue: 1, earlier: 1, later: 0, counts: [1] },
      { topic: 'orders', scheduled: 1, overdue: 0, earlier: 0, later: 0, counts: [1] },
    ]);
    expect(asked).toHaveLength(8 + 3 + 1000);
    expect(Math.max(...asked)).toBe(128);
  });

  it('of a topic that was never used is empty', async () => {
    const { admin } = await open();

    expect(await admin.agenda('other')).toMatchObject({ scheduled: 0, overdue: 0, earlier: 0, later: 0, topics: [] });
    expect((await admin.agenda('other')).buckets).toHaveLength(60);
  });

  it('asks for no more times than a call takes', async () => {
    const { admin } = await open();

    expect((await admin.agenda('orders', { buckets: MAX_DUE_TIMES - 1 })).buckets).toHaveLength(200);
  });

  it.each([
    { buckets: 0 },
    { buckets: 201 },
    { buckets: 1.5 },
    { from: new Date(Number.NaN) },
    { to: -1 },
    { from: NOW, to: NOW },
    { from: NOW + HOUR, to: NOW },
    { from: NOW, to: NOW + 59 },
    { bucket: 5 } as object,
  ])('refuses %j', async (options) => {
    const { admin } = await open();

    await expect(admin.agenda('orders', options)).rejects.toThrow(InvalidArgumentError);
  });
});
