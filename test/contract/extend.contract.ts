import { describe, expect } from 'vitest';
import { MAX_BATCH } from '../../lib/broker/broker.interface.js';
import { type BrokerTest, ACK, LONG, OUTCOMES, RETRY, RETRY_LATER, message } from '../support/broker/broker-bed.js';

export function extendContract(it: BrokerTest): void {
  describe('extend', () => {
    it('lets the lease end so much later, from now on', async ({ bench }) => {
      const claimed = await bench.deliver('a', { lease: 5 });
      await bench.advance(3);
      const before = await bench.time();

      expect(await bench.broker.extend(bench.partition, LONG, [claimed])).toEqual(['extended']);

      const after = await bench.time();
      const at = (await bench.get('a'))?.at;
      expect(at).toBeGreaterThan(before + LONG - 1);
      expect(at).toBeLessThanOrEqual(after + LONG);
      await bench.advance(5);
      expect(await bench.claim()).toMatchObject({ messages: [], nextAt: at });
    });

    it('spends no attempt and keeps the receipt', async ({ bench }) => {
      const claimed = await bench.deliver('a');
      await bench.broker.extend(bench.partition, LONG, [claimed]);

      expect(await bench.get('a')).toMatchObject({ state: 'in-flight', deliveries: 1, attempts: 1 });
      expect(await bench.settle(claimed, ACK)).toBe('settled');
    });

    it('a lease may end sooner than before', async ({ bench }) => {
      const claimed = await bench.deliver('a', { lease: LONG });
      await bench.broker.extend(bench.partition, 5, [claimed]);
      await bench.advance(5);

      expect(await bench.claimOne()).toMatchObject({ storedId: 'a', attempt: 2 });
    });

    it('saves a lease that has ended, where nobody has taken the message', async ({ bench }) => {
      const claimed = await bench.deliver('a', { lease: 1 });
      await bench.advance(2);

      expect(await bench.broker.extend(bench.partition, LONG, [claimed])).toEqual(['extended']);

      expect((await bench.claim()).messages).toEqual([]);
      expect(await bench.settle(claimed, ACK)).toBe('settled');
    });

    it('tells that a delivery is lost where the message was redelivered', async ({ bench }) => {
      const lost = await bench.deliver('a', { lease: 5 });
      await bench.advance(5);
      await bench.claimOne({ lease: LONG });
      const before = await bench.get('a');

      expect(await bench.broker.extend(bench.partition, 2 * LONG, [lost])).toEqual(['lost']);

      expect(await bench.get('a')).toEqual(before);
    });

    for (const outcome of OUTCOMES) {
      it(`tells that a delivery is lost where it was settled (${outcome.kind})`, async ({ bench }) => {
        const claimed = await bench.settled('a', outcome);
        const before = await bench.get('a');

        expect(await bench.broker.extend(bench.partition, LONG, [claimed])).toEqual(['lost']);

        expect(await bench.get('a')).toEqual(before);
        expect(await bench.broker.stats(bench.partition)).toMatchObject({ inFlight: 0 });
      });
    }

    it('tells that a delivery is lost that never was', async ({ bench }) => {
      expect(await bench.broker.extend(bench.partition, LONG, [{ storedId: 'nobody', token: 1 }])).toEqual(['lost']);
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ inFlight: 0 });
    });

    it('takes no receipt without a token for a delivery', async ({ bench }) => {
      await bench.settled('a', RETRY_LATER);
      await bench.publish('b');

      const receipts = ['a', 'b'].map((storedId) => ({ storedId, token: 0 }));
      expect(await bench.broker.extend(bench.partition, LONG, receipts)).toEqual(['lost', 'lost']);

      expect(await bench.broker.stats(bench.partition)).toMatchObject({ inFlight: 0, scheduled: 2 });
    });

    it('tells that a message was cancelled, and keeps its lease while its handler ends', async ({ bench }) => {
      const claimed = await bench.deliver('a', { lease: 5 });
      await bench.cancel('a');

      expect(await bench.broker.extend(bench.partition, LONG, [claimed])).toEqual(['cancelled']);

      await bench.advance(5);
      expect((await bench.claim()).messages).toEqual([]);
      expect(await bench.get('a')).toMatchObject({ state: 'in-flight' });
      expect(await bench.settle(claimed, RETRY)).toBe('cancelled');
    });

    it('goes on for a message that was replaced', async ({ bench }) => {
      const claimed = await bench.deliver('a', { lease: 5 });
      await bench.publish('a', { onDuplicate: 'replace' });

      expect(await bench.broker.extend(bench.partition, LONG, [claimed])).toEqual(['extended']);

      await bench.advance(5);
      expect((await bench.claim()).messages).toEqual([]);
    });

    it('answers in the order of the receipts', async ({ bench }) => {
      await bench.publishAll([message('a'), message('b'), message('c')]);
      const { messages } = await bench.claim();
      const [a, b, c] = messages;
      if (!a || !b || !c) throw new Error('three were claimed');
      await bench.cancel('b');
      await bench.settle(c, ACK);

      expect(await bench.broker.extend(bench.partition, LONG, [c, b, a])).toEqual(['lost', 'cancelled', 'extended']);
    });

    it('extends as many as a call may have', async ({ bench }) => {
      await bench.publishAll(Array.from({ length: MAX_BATCH }, (_, i) => message(`id-${i}`)));
      const { messages } = await bench.claim({ lease: 20 });

      expect(await bench.broker.extend(bench.partition, LONG, messages)).toEqual(messages.map(() => 'extended'));
      expect(messages).toHaveLength(MAX_BATCH);
      await bench.advance(20);
      expect((await bench.claim()).messages).toEqual([]);
    });
  });
}
