import { describe, expect, it } from 'vitest';
import type { Partition } from '../../../lib/store/partition.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { message } from '../../support/broker/broker-bed.js';
import { testAdmin } from '../../support/units/admin.js';

const NOW = 1_700_000_000_000;
const TIMEOUT = 5000;

/** @param away the partitions that do not answer, and how that is told */
async function open(away: readonly number[], fail: () => Promise<never>, partitions = 10) {
  const clock = new ManualClock(NOW);
  const broker = new EmbeddedBroker(clock);
  await broker.fleet.configure('orders', partitions);
  for (let index = 0; index < partitions; index++) {
    const call = { caller: 'test', sequence: index + 1 };
    await broker.messages.publish({ topic: 'orders', index }, call, [message(`m${index}`, { due: { at: NOW - 1 } })]);
  }
  const guard =
    <A extends unknown[], R>(ask: (partition: Partition, ...args: A) => Promise<R>) =>
    async (partition: Partition, ...args: A): Promise<R> =>
      partition.topic === 'orders' && away.includes(partition.index) ? fail() : ask(partition, ...args);
  broker.messages.stats = guard(broker.messages.stats.bind(broker.messages));
  broker.messages.countDue = guard(broker.messages.countDue.bind(broker.messages));
  return { admin: testAdmin(broker, clock, { timeout: TIMEOUT }), broker, clock };
}

const refused = async (): Promise<never> => Promise.reject(new BrokerUnavailableError('The shard is away.'));

const hanging = async (): Promise<never> => new Promise(() => {});

const damaged = async (): Promise<never> =>
  Promise.reject(new BrokerUnavailableError('It is damaged.', { transient: false }));

describe('partitions whose shard is away', () => {
  it.each([
    ['refuse', refused],
    ['hang', hanging],
  ])('are named and in no count if they %s', async (_, fail) => {
    const { admin, clock } = await open([2, 5], fail);
    const counting = Promise.all([admin.stats('orders'), admin.agenda('orders')]);
    await clock.advance(TIMEOUT);
    const [stats, agenda] = await counting;

    expect(stats).toMatchObject({ scheduled: 8, due: 8, unreachable: [2, 5] });
    expect(stats.partitions.map(({ partition }) => partition)).toEqual([0, 1, 3, 4, 6, 7, 8, 9]);
    expect(agenda).toMatchObject({ scheduled: 8, overdue: 8, unreachable: [{ topic: 'orders', partitions: [2, 5] }] });
  });

  it.each([
    ['refuse', refused],
    ['hang', hanging],
  ])('are waited for once, if they %s: then all that is left is asked at once', async (_, fail) => {
    const { admin, clock } = await open([0, 200, 999], fail, 1000);
    const counting = admin.stats('orders');
    await clock.advance(TIMEOUT);
    await clock.advance(TIMEOUT);
    expect(await counting).toMatchObject({ scheduled: 997, unreachable: [0, 200, 999] });
  });

  it('are an error if none answers', async () => {
    const { admin, clock } = await open([0, 1], refused, 2);
    const counting = admin.stats('orders');
    await Promise.all([expect(counting).rejects.toThrow('The shard is away.'), clock.advance(TIMEOUT)]);
  });

  it('do not keep other topics from being counted', async () => {
    const { admin, clock, broker } = await open([0, 1], hanging, 2);
    await broker.fleet.configure('mails', 2);
    const counting = admin.statsOf(['orders', 'mails', 'never']);
    await clock.advance(TIMEOUT);
    expect(await counting).toMatchObject([
      { topic: 'orders', error: expect.any(BrokerUnavailableError) as Error },
      { topic: 'mails', stats: { unreachable: [] } },
      { topic: 'never', stats: { partitions: [] } },
    ]);
  });

  it('are an error if they refuse for good', async () => {
    const { admin } = await open([3], damaged);
    await expect(admin.agenda('orders')).rejects.toThrow('It is damaged.');
  });
});
