import { describe, expect } from 'vitest';
import { type BrokerTest, ACK, FAILURE, LONG, OUTCOMES, message } from '../support/contract-bench.js';

const NO_TIMES = [NaN, Infinity, -Infinity, -1, 1e300];
const REFUSED = { code: 'INVALID_ARGUMENT' };

export function setAsideContract(it: BrokerTest): void {
  describe('a time that is none', () => {
    for (const time of NO_TIMES) {
      it(`${time}: nothing of the call is done, and others are served`, async ({ bench }) => {
        const { broker, partition } = bench;
        const [a, b] = [await bench.deliver('a'), await bench.deliver('b')];
        for (const due of [{ after: time }, { at: time }]) {
          await expect(bench.publishAll([message('c'), message('d', { due })])).rejects.toMatchObject(REFUSED);
          await expect(bench.reschedule('a', due)).rejects.toMatchObject(REFUSED);
        }
        for (const kind of ['retry', 'put-off'] as const) {
          const outcome = { kind, delay: time, failure: FAILURE };
          const both = bench.settleAll([
            [a, ACK],
            [b, outcome],
          ]);
          await expect(both).rejects.toMatchObject(REFUSED);
        }
        await expect(broker.extend(partition, time, [a])).rejects.toMatchObject(REFUSED);
        await expect(bench.claim({ lease: time })).rejects.toMatchObject(REFUSED);
        const requeued = broker.requeueDead(partition, bench.nextCall(), [{ storedId: 'a', diedAt: 1 }], time);
        await expect(requeued).rejects.toMatchObject(REFUSED);

        expect(await broker.stats(partition)).toMatchObject({ scheduled: 0, inFlight: 2, dead: 0 });
        expect(
          await bench.settleAll([
            [a, ACK],
            [b, ACK],
          ]),
        ).toEqual(['settled', 'settled']);
      });
    }
  });

  describe('set aside', () => {
    it('makes a dead letter of a delivery, with its envelope, the failure, and no attempt spent', async ({ bench }) => {
      await bench.publish('a', { envelope: '[1,"kept"]' });
      const claimed = await bench.claimOne();

      expect(await bench.broker.setAside(bench.partition, claimed, FAILURE)).toBe('a');

      expect(await bench.get('a')).toMatchObject({
        state: 'dead',
        envelope: '[1,"kept"]',
        deliveries: 1,
        attempts: 0,
        failure: FAILURE,
        history: [],
      });
      expect((await bench.broker.stats(bench.partition)).counters).toMatchObject({ died: 1 });
      expect(await bench.settle(claimed, ACK)).toBe('stale');
      expect(await bench.broker.setAside(bench.partition, claimed, FAILURE)).toBeUndefined();
    });

    it('changes nothing for a delivery that is not the current one', async ({ bench }) => {
      for (const outcome of OUTCOMES) {
        const claimed = await bench.settled(outcome.kind, outcome);
        expect(await bench.broker.setAside(bench.partition, claimed, FAILURE)).toBeUndefined();
        await bench.cancel(outcome.kind);
      }
      expect((await bench.broker.stats(bench.partition)).counters).toMatchObject({ died: 1 });
    });

    it('changes nothing for a message that was cancelled or replaced meanwhile', async ({ bench }) => {
      const a = await bench.deliver('a');
      const b = await bench.deliver('b');
      await bench.cancel('a');
      await bench.publish('b', { onDuplicate: 'replace' });

      for (const claimed of [a, b]) {
        expect(await bench.broker.setAside(bench.partition, claimed, FAILURE)).toBeUndefined();
      }
      expect(await bench.settle(b, ACK)).toBe('settled');
      expect(await bench.get('b')).toMatchObject({ state: 'scheduled' });
    });

    it('without a token: takes what is due, and what has a lease that has ended, nothing else', async ({ bench }) => {
      const aside = (storedId: string): Promise<string | undefined> =>
        bench.broker.setAside(bench.partition, { storedId, token: 0 }, FAILURE);
      await bench.deliver('flying');
      await bench.deliver('ended', { lease: 0 });
      await bench.publishAll([message('due'), message('waiting', { due: { after: LONG } })]);

      expect(await aside('flying')).toBeUndefined();
      expect(await aside('waiting')).toBeUndefined();
      expect(await aside('nobody')).toBeUndefined();
      expect(await aside('due')).toBe('due');
      expect(await aside('ended')).toBe('ended');

      expect(await bench.get('ended')).toMatchObject({ state: 'dead', deliveries: 1, attempts: 1 });
      expect(await bench.get('due')).toMatchObject({ state: 'dead', deliveries: 0, attempts: 0 });
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 1, inFlight: 1, dead: 2 });
    });

    it('can be requeued and is delivered again', async ({ bench }) => {
      const claimed = await bench.deliver('a');
      await bench.broker.setAside(bench.partition, claimed, FAILURE);
      const { letters } = await bench.broker.listDead(bench.partition, { limit: 5, withFailures: true });
      expect(letters).toMatchObject([{ storedId: 'a', failure: FAILURE }]);

      expect(await bench.broker.requeueDead(bench.partition, bench.nextCall(), letters, 0)).toEqual([true]);
      await bench.advance(1);
      expect(await bench.claimOne()).toMatchObject({ storedId: 'a', delivery: 2, attempt: 1 });
    });
  });
}
