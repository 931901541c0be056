import { describe, expect } from 'vitest';
import { FIRST, OTHER, SECOND, publishAll } from '../support/broker/ordered-messages.js';
import { type BrokerTest, ACK, LONG, LONG_AGO, RETRY_LATER, message } from '../support/broker/broker-bed.js';

export function countDueContract(it: BrokerTest): void {
  describe('countDue', () => {
    it('counts what is due before each time, itself not included', async ({ bed }) => {
      const base = Math.floor(await bed.time()) + LONG;
      for (const [id, at] of [
        ['a', 0],
        ['b', 1000],
        ['c', 1000],
        ['d', 2500],
      ] as const) {
        await bed.publish(id, { due: { at: base + at } });
      }
      const times = [base - 5, base, base + 1, base + 1000, base + 1001, base + 2500, base + 9000, base + 99_000];

      expect(await bed.broker.messages.countDue(bed.partition, times)).toEqual({
        scheduled: 4,
        due: 0,
        before: [0, 0, 1, 1, 3, 3, 4, 4],
      });
    });

    it('tells what is due by now, wherever the times are', async ({ bed }) => {
      const now = Math.floor(await bed.time());
      await bed.publishAll([
        message('old', { due: { at: LONG_AGO } }),
        message('now', { due: { after: 0 } }),
        message('later', { due: { after: LONG } }),
      ]);
      await bed.advance(2);

      expect(await bed.broker.messages.countDue(bed.partition, [LONG_AGO, LONG_AGO + 1])).toEqual({
        scheduled: 3,
        due: 2,
        before: [0, 1],
      });
      expect(await bed.broker.messages.countDue(bed.partition, [now + 2 * LONG])).toMatchObject({
        due: 2,
        before: [3],
      });
    });

    it('counts retries, and nothing that is in flight, dead or gone', async ({ bed }) => {
      await bed.settled('acked', ACK);
      await bed.settled('retried', RETRY_LATER);
      await bed.deliver('in flight');
      const [from, to] = [Math.floor(await bed.time()), Math.ceil(await bed.time()) + LONG + 1000];

      expect(await bed.broker.messages.countDue(bed.partition, [from, to])).toEqual({
        scheduled: 1,
        due: 0,
        before: [0, 1],
      });
    });

    it('counts what is blocked by its due time, too', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND, OTHER);
      const now = Math.floor(await bed.time());

      expect(await bed.broker.messages.countDue(bed.partition, [1, now])).toEqual({
        scheduled: 3,
        due: 3,
        before: [0, 3],
      });
    });

    it('finds nothing where nothing ever was', async ({ bed }) => {
      expect(await bed.broker.messages.countDue({ ...bed.partition, index: 5 }, [1, 2])).toEqual({
        scheduled: 0,
        due: 0,
        before: [0, 0],
      });
    });

    it('tells each of many partitions apart that are asked at once, as stats does', async ({ bed }) => {
      const base = Math.floor(await bed.time()) + LONG;
      const partitions = Array.from({ length: 20 }, (_, index) => ({ ...bed.partition, index }));
      for (const index of [0, 3, 19]) {
        const due = { at: base + index };
        await bed.broker.messages.publish({ ...bed.partition, index }, bed.nextCall(), [message(`m${index}`, { due })]);
      }
      const waiting = partitions.map(({ index }) => ([0, 3, 19].includes(index) ? 1 : 0));
      const times = [base + 4, base + 99];
      const [counts, stats] = await Promise.all([
        Promise.all(partitions.map((partition) => bed.broker.messages.countDue(partition, times))),
        Promise.all(partitions.map((partition) => bed.broker.messages.stats(partition))),
      ]);

      expect(counts.map(({ before }) => before)).toEqual(waiting.map((count, i) => [i < 4 ? count : 0, count]));
      expect(stats.map(({ scheduled, nextDueAt }) => [scheduled, nextDueAt])).toEqual(
        waiting.map((count, i) => [count, count === 1 ? base + i : undefined]),
      );
    });

    it('takes as many times as a call has room for', async ({ bed }) => {
      const base = Math.floor(await bed.time()) + LONG;
      const dues = Array.from({ length: 150 }, (_, i) => base + i * 7);
      await bed.publishAll(dues.map((at, i) => message(`m${i}`, { due: { at } })));
      const times = Array.from({ length: 201 }, (_, i) => base + i * 5);
      const { before } = await bed.broker.messages.countDue(bed.partition, times);

      expect(before).toEqual(times.map((time) => dues.filter((due) => due < time).length));
    });
  });
}
