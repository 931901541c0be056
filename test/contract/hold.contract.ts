import { describe, expect } from 'vitest';
import { ACK, type BrokerTest, LONG, LONG_AGO } from '../support/broker/broker-bed.js';

export function holdContract(it: BrokerTest): void {
  describe('a hold', () => {
    it('hands nothing out until it is over, and says when that is', async ({ bed }) => {
      await bed.publish('a');
      const before = await bed.time();
      const until = await bed.broker.deliveries.hold(bed.partition, bed.nextCall(), 60);
      expect(until).toBeGreaterThanOrEqual(before + 60);

      expect(await bed.claim()).toMatchObject({ status: 'held', messages: [], nextAt: until });
      expect(await bed.stats()).toMatchObject({ heldUntil: until, due: 1 });
      await bed.advance(70);
      expect(await bed.claimOne()).toMatchObject({ storedId: 'a', dueAt: LONG_AGO });
      expect((await bed.stats()).heldUntil).toBeUndefined();
    });

    it('lasts as long as the longest', async ({ bed }) => {
      const long = await bed.broker.deliveries.hold(bed.partition, bed.nextCall(), LONG);
      expect(await bed.broker.deliveries.hold(bed.partition, bed.nextCall(), 5)).toBe(long);
      expect(await bed.claim()).toMatchObject({ status: 'held', nextAt: long });
    });

    it('is counted once if its call is repeated', async ({ bed }) => {
      const call = bed.nextCall();
      const until = await bed.broker.deliveries.hold(bed.partition, call, LONG);
      await bed.advance(5);
      expect(await bed.broker.deliveries.hold(bed.partition, call, LONG)).toBe(until);
      expect((await bed.stats()).heldUntil).toBe(until);
    });

    it('leaves what is in flight alone', async ({ bed }) => {
      const a = await bed.deliver('a');
      await bed.broker.deliveries.hold(bed.partition, bed.nextCall(), LONG);

      expect(await bed.broker.deliveries.extend(bed.partition, LONG, [a])).toEqual(['extended']);
      expect(await bed.settle(a, ACK)).toBe('settled');
    });

    it('keeps back what has to be delivered again, too', async ({ bed }) => {
      await bed.deliver('a', { lease: 5 });
      await bed.broker.deliveries.hold(bed.partition, bed.nextCall(), 300);
      await bed.advance(6);
      expect((await bed.claim()).messages).toEqual([]);
      await bed.advance(300);
      expect(await bed.claimOne()).toMatchObject({ storedId: 'a', delivery: 2 });
    });

    it('ends when the partition is resumed', async ({ bed }) => {
      await bed.publish('a');
      await bed.broker.deliveries.hold(bed.partition, bed.nextCall(), LONG);
      await bed.broker.deliveries.resume(bed.partition, bed.nextCall());
      expect(await bed.claimOne()).toMatchObject({ storedId: 'a' });
    });

    it('keeps deliveries back only whose claim was not carried out before', async ({ bed }) => {
      await bed.publish('a');
      await bed.claim();
      await bed.broker.deliveries.hold(bed.partition, bed.nextCall(), LONG);
      expect((await bed.repeatClaim()).messages).toMatchObject([{ storedId: 'a', delivery: 1 }]);
    });

    it('and a pause: the pause is what a claim is told', async ({ bed }) => {
      await bed.broker.deliveries.hold(bed.partition, bed.nextCall(), LONG);
      await bed.broker.deliveries.pause(bed.partition, bed.nextCall());
      expect(await bed.claim()).toMatchObject({ status: 'paused' });
    });

    it('refuses a delay that is none', async ({ bed }) => {
      await expect(bed.broker.deliveries.hold(bed.partition, bed.nextCall(), Number.NaN)).rejects.toThrow(/The delay/);
      expect(await bed.claim()).toMatchObject({ status: 'claimed' });
    });
  });
}
