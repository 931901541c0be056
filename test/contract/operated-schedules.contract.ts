import { describe, expect } from 'vitest';
import { wrapBroker } from '../../lib/broker/wrap-broker.js';
import { BrokerUnavailableError } from '../../lib/errors/operation.errors.js';
import { partitionOf } from '../../lib/messages/partitioner.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { occurrenceId, seriesOf } from '../../lib/schedules/occurrence-ids.js';
import { ACK, type BrokerBed, type BrokerTest } from '../support/broker/broker-bed.js';
import { due, publish, state } from '../support/broker/stored-schedules.js';
import { testSchedules } from '../support/units/schedules.js';

/** Its id is no other test's: the list of schedules is one for all topics. */
function hourly({ partition: { topic } }: BrokerBed) {
  return { id: topic, topic, payload: 7, every: '1h' };
}

/** Publishes the next occurrence of a stored schedule unless it is busy. */
async function publishUnlessBusy(bed: BrokerBed, { id, key }: { id: string; key: string }): Promise<string> {
  const { state: expected = '' } = (await bed.broker.getSchedules(bed.partition, [id]))[0] ?? {};
  const storedId = toStoredId(occurrenceId(id, 1000), key);
  const unlessBusy = { state: state(2000), series: seriesOf(id, key) };
  return (await publish(bed, { id, expected, storedId, unlessBusy })).status;
}

export function operatedSchedulesContract(it: BrokerTest): void {
  describe('schedules.runNow()', () => {
    it('keeps the order of a topic, also by a process that has not used the topic', async ({ bed }) => {
      bed.order = 'continue';
      const schedule = hourly(bed);
      await bed.broker.configure(schedule.topic, 1, bed.order);
      await testSchedules(bed.broker).upsert(schedule);
      await bed.publish(toStoredId(schedule.id));
      const first = await bed.claimOne();

      const { id } = await testSchedules(bed.broker).runNow(schedule.id);
      await bed.advance(1);
      expect((await bed.claim()).messages).toEqual([]);
      await bed.settle(first, ACK);
      expect((await bed.claimOne()).storedId).toBe(toStoredId(id, schedule.id));
    });

    it.for([[undefined], ['operation 7']])(
      'publishes what an occurrence waits for that must not overlap, once: %j',
      async ([once], { bed }) => {
        const schedule = hourly(bed);
        await bed.broker.configure(schedule.topic, 1);
        const schedules = testSchedules(bed.broker);
        await schedules.upsert(schedule);
        await schedules.runNow(schedule.id, { once });
        expect(await publishUnlessBusy(bed, { id: schedule.id, key: schedule.id })).toBe('skipped');

        await bed.advance(1);
        await bed.settle(await bed.claimOne(), ACK);
        expect(await publishUnlessBusy(bed, { id: schedule.id, key: schedule.id })).toBe('published');
      },
    );

    it('publishes once if the answer is lost', async ({ bed }) => {
      const schedule = hourly(bed);
      await bed.broker.configure(schedule.topic, 1);
      let lost = 2;
      const broker = wrapBroker(bed.broker, async ({ operation, run }) => {
        const answer = await run();
        if (operation === 'publish' && lost-- > 0) throw new BrokerUnavailableError('lost');
        return answer;
      });
      await testSchedules(bed.broker).upsert(schedule);
      await testSchedules(broker).runNow(schedule.id);
      expect((await bed.broker.stats(bed.partition)).counters.published).toBe(1);
    });
  });

  describe('an occurrence that must not overlap', () => {
    it.for(['0f8fad5b-d9cb-469f-a165-70867728950e', '.hidden', 'plain'])(
      'is skipped whatever form its key is stored in: %s',
      async (key, { bed }) => {
        await due(bed, key);
        await bed.publish(toStoredId(occurrenceId(key, 500), key));
        expect(await publishUnlessBusy(bed, { id: key, key })).toBe('skipped');
      },
    );
  });

  describe('schedules.remove()', () => {
    it('leaves one on the list that was stored with another key before a repeat', async ({ bed }) => {
      const schedule = hourly(bed);
      await bed.broker.configure(schedule.topic, 8);
      // In another partition nothing of the one that is removed is found.
      const home = partitionOf(schedule.id, 8);
      const key = Array.from({ length: 100 }, (_, i) => `key ${i}`).find((one) => partitionOf(one, 8) !== home) ?? '';
      const schedules = testSchedules(bed.broker);
      await schedules.upsert(schedule);
      let lost = 1;
      const broker = wrapBroker(bed.broker, async ({ operation, run }) => {
        const answer = await run();
        if (operation === 'unindexSchedule' && lost-- > 0) {
          await schedules.upsert({ ...schedule, options: { key } });
          throw new BrokerUnavailableError('lost');
        }
        return answer;
      });
      expect(await testSchedules(broker).remove(schedule.id)).toBe(true);
      expect(await schedules.get(schedule.id)).toMatchObject({ key });
      expect(await schedules.remove(schedule.id)).toBe(true);
    });
  });

  describe('a schedule that was set aside', () => {
    it.for(['upsert', 'resume'] as const)('goes on by %s(), behind its last occurrence', async (method, { bed }) => {
      const schedule = hourly(bed);
      await bed.broker.configure(schedule.topic, 1);
      const schedules = testSchedules(bed.broker);
      const { next } = await schedules.upsert(schedule);
      const last = Number(next) + 3_600_000;
      const [stored] = await bed.broker.getSchedules(bed.partition, [schedule.id]);
      const write = { expected: stored?.state, state: `aside active - ${last} 3`, nextAt: undefined };
      await bed.broker.putSchedule(bed.partition, { id: schedule.id, ...write });

      await (method === 'upsert' ? schedules.upsert(schedule) : schedules.resume(schedule.id));
      expect(await schedules.get(schedule.id)).toMatchObject({
        paused: false,
        last: new Date(last),
        next: new Date(last + 3_600_000),
        missed: 3,
      });
    });

    it('stays ended if its rule has ended', async ({ bed }) => {
      const schedule = { ...hourly(bed), endAt: new Date(1_800_000_000_000) };
      await bed.broker.configure(schedule.topic, 1);
      const schedules = testSchedules(bed.broker);
      await schedules.upsert(schedule);
      const [stored] = await bed.broker.getSchedules(bed.partition, [schedule.id]);
      const write = { expected: stored?.state, state: 'ended active - 1800000000000 0', nextAt: undefined };
      await bed.broker.putSchedule(bed.partition, { id: schedule.id, ...write });

      await schedules.upsert(schedule);
      expect((await bed.broker.getSchedules(bed.partition, [schedule.id]))[0]?.state).toBe(write.state);
    });
  });
}
