import { describe, expect } from 'vitest';
import { type BrokerTest, message } from '../support/broker/broker-bed.js';

export function claimEndContract(it: BrokerTest): void {
  describe('a claim that takes along deliveries that have succeeded', () => {
    it('ends them, and tells of each how', async ({ bed }) => {
      const [first, second] = [await bed.deliver('a'), await bed.deliver('b')];
      await bed.publish('c');

      const claimed = await bed.claim({ succeeded: [first, { ...second, token: bed.token(7) }] });

      expect(claimed.ended).toEqual(['settled', 'stale']);
      expect(claimed.messages).toMatchObject([{ storedId: 'c', token: bed.token(3) }]);
      expect(await bed.stats()).toMatchObject({
        inFlight: 2,
        counters: { acked: 1, stale: 1, delivered: 3 },
      });
    });

    it('tells the same when it is repeated, and ends nothing twice', async ({ bed }) => {
      const [first, second] = [await bed.deliver('a'), await bed.deliver('b')];
      const { ended } = await bed.claim({ succeeded: [first, { ...second, token: bed.token(7) }, first] });

      expect((await bed.repeatClaim()).ended).toEqual(ended);
      expect(ended).toEqual(['settled', 'stale', 'stale']);
      expect(await bed.stats()).toMatchObject({ counters: { acked: 1, stale: 2 } });
    });

    it('ends them even if the topic is paused', async ({ bed }) => {
      const delivery = await bed.deliver('a');
      await bed.broker.deliveries.pause(bed.partition, bed.nextCall());

      expect(await bed.claim({ succeeded: [delivery] })).toMatchObject({ status: 'paused', ended: ['settled'] });
    });

    it('ends nothing for one that does not own the partition', async ({ bed }) => {
      const delivery = await bed.deliver('a');
      const request = bed.nextClaim({ owner: 'other owner', succeeded: [delivery] });

      expect(await bed.broker.deliveries.claim(bed.partition, request)).toEqual({
        status: 'not-owner',
        owner: bed.owner,
      });
      expect(await bed.stats()).toMatchObject({ inFlight: 1, counters: { acked: 0 } });
    });

    it('brings what has waited for them in the order of their key', async ({ bed }) => {
      bed.order = 'continue';
      await bed.publishAll([message('a\0key'), message('b\0key')]);
      const { messages } = await bed.claim();
      expect(messages).toHaveLength(1);

      expect((await bed.claim({ succeeded: messages })).messages).toMatchObject([{ storedId: 'b\0key' }]);
    });
  });
}
