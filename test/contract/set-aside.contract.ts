import { describe, expect } from 'vitest';
import { NO_TOKEN } from '../../lib/store/deliveries/receipt.js';
import { type BrokerTest, ACK, FAILURE, LONG, OUTCOMES, message } from '../support/broker/broker-bed.js';

const NO_TIMES = [NaN, Infinity, -Infinity, -1, 1e300];
const REFUSED = { code: 'INVALID_ARGUMENT' };

export function setAsideContract(it: BrokerTest): void {
  describe('an invalid time', () => {
    for (const time of NO_TIMES) {
      it(`${time}: nothing of the call is done, and others are served`, async ({ bed }) => {
        const { broker, partition } = bed;
        const [a, b] = [await bed.deliver('a'), await bed.deliver('b')];
        for (const due of [{ after: time }, { at: time }]) {
          await expect(bed.publishAll([message('c'), message('d', { due })])).rejects.toMatchObject(REFUSED);
          const limited = message('d', { onDuplicate: 'replace', maxWait: time });
          await expect(bed.publishAll([message('c'), limited])).rejects.toMatchObject(REFUSED);
          await expect(bed.reschedule('a', due)).rejects.toMatchObject(REFUSED);
        }
        for (const kind of ['retry', 'put-off'] as const) {
          const outcome = { kind, delay: time, failure: FAILURE };
          const both = bed.settleAll([
            [a, ACK],
            [b, outcome],
          ]);
          await expect(both).rejects.toMatchObject(REFUSED);
        }
        await expect(broker.deliveries.extend(partition, time, [a])).rejects.toMatchObject(REFUSED);
        await expect(bed.claim({ lease: time })).rejects.toMatchObject(REFUSED);
        const requeued = broker.deadLetters.requeueDead(
          partition,
          bed.nextCall(),
          [{ storedId: 'a', diedAt: 1 }],
          time,
        );
        await expect(requeued).rejects.toMatchObject(REFUSED);

        expect(await broker.messages.stats(partition)).toMatchObject({ scheduled: 0, inFlight: 2, dead: 0 });
        expect(
          await bed.settleAll([
            [a, ACK],
            [b, ACK],
          ]),
        ).toEqual(['settled', 'settled']);
      });
    }
  });

  describe('set aside', () => {
    it('makes a dead letter of a delivery, with its envelope, the failure, and no attempt spent', async ({ bed }) => {
      await bed.publish('a', { envelope: '[1,"kept"]' });
      const claimed = await bed.claimOne();

      expect(await bed.broker.deliveries.setAside(bed.partition, claimed, FAILURE)).toBe('a');

      expect(await bed.get('a')).toMatchObject({
        state: 'dead',
        envelope: '[1,"kept"]',
        deliveries: 1,
        attempts: 0,
        failure: FAILURE,
        history: [],
      });
      expect((await bed.stats()).counters).toMatchObject({ died: 1 });
      expect(await bed.settle(claimed, ACK)).toBe('stale');
      expect(await bed.broker.deliveries.setAside(bed.partition, claimed, FAILURE)).toBeUndefined();
    });

    it('changes nothing for a delivery that is not the current one', async ({ bed }) => {
      for (const outcome of OUTCOMES) {
        const claimed = await bed.settled(outcome.kind, outcome);
        expect(await bed.broker.deliveries.setAside(bed.partition, claimed, FAILURE)).toBeUndefined();
        await bed.cancel(outcome.kind);
      }
      expect((await bed.stats()).counters).toMatchObject({ died: 1 });
    });

    it('changes nothing for a message that was cancelled or replaced meanwhile', async ({ bed }) => {
      const a = await bed.deliver('a');
      const b = await bed.deliver('b');
      await bed.cancel('a');
      await bed.publish('b', { onDuplicate: 'replace' });

      for (const claimed of [a, b]) {
        expect(await bed.broker.deliveries.setAside(bed.partition, claimed, FAILURE)).toBeUndefined();
      }
      expect(await bed.settle(b, ACK)).toBe('settled');
      expect(await bed.get('b')).toMatchObject({ state: 'scheduled' });
    });

    it('without a token: takes what is due, and what has a lease that has ended, nothing else', async ({ bed }) => {
      const aside = (storedId: string): Promise<string | undefined> =>
        bed.broker.deliveries.setAside(bed.partition, { storedId, token: NO_TOKEN }, FAILURE);
      await bed.deliver('flying');
      await bed.deliver('ended', { lease: 1 });
      await bed.advance(1);
      await bed.publishAll([message('due'), message('waiting', { due: { after: LONG } })]);

      expect(await aside('flying')).toBeUndefined();
      expect(await aside('waiting')).toBeUndefined();
      expect(await aside('nobody')).toBeUndefined();
      expect(await aside('due')).toBe('due');
      expect(await aside('ended')).toBe('ended');

      expect(await bed.get('ended')).toMatchObject({ state: 'dead', deliveries: 1, attempts: 1 });
      expect(await bed.get('due')).toMatchObject({ state: 'dead', deliveries: 0, attempts: 0 });
      expect(await bed.stats()).toMatchObject({ scheduled: 1, inFlight: 1, dead: 2 });
    });

    it('can be requeued and is delivered again', async ({ bed }) => {
      const claimed = await bed.deliver('a');
      await bed.broker.deliveries.setAside(bed.partition, claimed, FAILURE);
      const { letters } = await bed.broker.deadLetters.listDead(bed.partition, { limit: 5, withFailures: true });
      expect(letters).toMatchObject([{ storedId: 'a', failure: FAILURE }]);

      expect(await bed.broker.deadLetters.requeueDead(bed.partition, bed.nextCall(), letters, 0)).toEqual([true]);
      await bed.advance(1);
      expect(await bed.claimOne()).toMatchObject({ storedId: 'a', delivery: 2, attempt: 1 });
    });
  });
}
