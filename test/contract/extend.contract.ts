import { describe, expect } from 'vitest';
import { MAX_BATCH } from '../../lib/store/partition.js';
import {
  type BrokerTest,
  ACK,
  LONG,
  NO_TOKENS,
  OUTCOMES,
  RETRY,
  RETRY_LATER,
  message,
} from '../support/broker/broker-bed.js';

export function extendContract(it: BrokerTest): void {
  describe('extend', () => {
    it('lets the lease end so much later, from now on', async ({ bed }) => {
      const claimed = await bed.deliver('a', { lease: 5 });
      await bed.advance(3);
      const before = await bed.time();

      expect(await bed.broker.deliveries.extend(bed.partition, LONG, [claimed])).toEqual(['extended']);

      const after = await bed.time();
      const at = (await bed.get('a'))?.at;
      expect(at).toBeGreaterThan(before + LONG - 1);
      expect(at).toBeLessThanOrEqual(after + LONG);
      await bed.advance(5);
      expect(await bed.claim()).toMatchObject({ messages: [], nextAt: at });
    });

    it('spends no attempt and keeps the receipt', async ({ bed }) => {
      const claimed = await bed.deliver('a');
      await bed.broker.deliveries.extend(bed.partition, LONG, [claimed]);

      expect(await bed.get('a')).toMatchObject({ state: 'in-flight', deliveries: 1, attempts: 1 });
      expect(await bed.settle(claimed, ACK)).toBe('settled');
    });

    it('a lease may end sooner than before', async ({ bed }) => {
      const claimed = await bed.deliver('a', { lease: LONG });
      await bed.broker.deliveries.extend(bed.partition, 5, [claimed]);
      await bed.advance(5);

      expect(await bed.claimOne()).toMatchObject({ storedId: 'a', delivery: 2, attempt: 1 });
    });

    it('saves a lease that has ended, where nobody has taken the message', async ({ bed }) => {
      const claimed = await bed.deliver('a', { lease: 1 });
      await bed.advance(2);

      expect(await bed.broker.deliveries.extend(bed.partition, LONG, [claimed])).toEqual(['extended']);

      expect((await bed.claim()).messages).toEqual([]);
      expect(await bed.settle(claimed, ACK)).toBe('settled');
    });

    it('tells that a delivery is lost where the message was redelivered', async ({ bed }) => {
      const lost = await bed.deliver('a', { lease: 5 });
      await bed.advance(5);
      await bed.claimOne({ lease: LONG });
      const before = await bed.get('a');

      expect(await bed.broker.deliveries.extend(bed.partition, 2 * LONG, [lost])).toEqual(['lost']);

      expect(await bed.get('a')).toEqual(before);
    });

    for (const outcome of OUTCOMES) {
      it(`tells that a delivery is lost where it was settled (${outcome.kind})`, async ({ bed }) => {
        const claimed = await bed.settled('a', outcome);
        const before = await bed.get('a');

        expect(await bed.broker.deliveries.extend(bed.partition, LONG, [claimed])).toEqual(['lost']);

        expect(await bed.get('a')).toEqual(before);
        expect(await bed.stats()).toMatchObject({ inFlight: 0 });
      });
    }

    it('tells that a delivery is lost that never was', async ({ bed }) => {
      expect(
        await bed.broker.deliveries.extend(bed.partition, LONG, [{ storedId: 'nobody', token: bed.token(1) }]),
      ).toEqual(['lost']);
      expect(await bed.stats()).toMatchObject({ inFlight: 0 });
    });

    it('takes no receipt without a token for a delivery', async ({ bed }) => {
      await bed.settled('a', RETRY_LATER);
      await bed.publish('b');

      const receipts = ['a', 'b'].flatMap((storedId) => NO_TOKENS.map((token) => ({ storedId, token })));
      expect(await bed.broker.deliveries.extend(bed.partition, LONG, receipts)).toEqual(receipts.map(() => 'lost'));

      expect(await bed.stats()).toMatchObject({ inFlight: 0, scheduled: 2 });
    });

    it('tells that a message was cancelled, and keeps its lease while its handler ends', async ({ bed }) => {
      const claimed = await bed.deliver('a', { lease: 5 });
      await bed.cancel('a');

      expect(await bed.broker.deliveries.extend(bed.partition, LONG, [claimed])).toEqual(['cancelled']);

      await bed.advance(5);
      expect((await bed.claim()).messages).toEqual([]);
      expect(await bed.get('a')).toMatchObject({ state: 'in-flight' });
      expect(await bed.settle(claimed, RETRY)).toBe('cancelled');
    });

    it('goes on for a message that was replaced', async ({ bed }) => {
      const claimed = await bed.deliver('a', { lease: 5 });
      await bed.publish('a', { onDuplicate: 'replace' });

      expect(await bed.broker.deliveries.extend(bed.partition, LONG, [claimed])).toEqual(['extended']);

      await bed.advance(5);
      expect((await bed.claim()).messages).toEqual([]);
    });

    it('answers in the order of the receipts', async ({ bed }) => {
      await bed.publishAll([message('a'), message('b'), message('c')]);
      const { messages } = await bed.claim();
      const [a, b, c] = messages;
      if (!a || !b || !c) throw new Error('three were claimed');
      await bed.cancel('b');
      await bed.settle(c, ACK);

      expect(await bed.broker.deliveries.extend(bed.partition, LONG, [c, b, a])).toEqual([
        'lost',
        'cancelled',
        'extended',
      ]);
    });

    it('extends as many as a call may have', async ({ bed }) => {
      await bed.publishAll(Array.from({ length: MAX_BATCH }, (_, i) => message(`id-${i}`)));
      const { messages } = await bed.claim({ lease: 20 });

      expect(await bed.broker.deliveries.extend(bed.partition, LONG, messages)).toEqual(messages.map(() => 'extended'));
      expect(messages).toHaveLength(MAX_BATCH);
      await bed.advance(20);
      expect((await bed.claim()).messages).toEqual([]);
    });
  });
}
