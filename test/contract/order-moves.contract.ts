import { describe, expect } from 'vitest';
import { ACK, type BrokerTest, DEAD, LONG, LONG_AGO, RETRY_LATER } from '../support/broker/broker-bed.js';
import {
  FIRST,
  SECOND,
  THIRD,
  claimable,
  due,
  handledInTurn,
  isBlockedBy,
  publishAll,
  requeue,
} from '../support/broker/ordered-messages.js';

export function orderMovesContract(it: BrokerTest): void {
  describe('an ordered topic in which messages move', () => {
    it('places what is rescheduled anew, whether it leads or is blocked', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND, THIRD);
      await bed.reschedule(FIRST, { at: LONG_AGO });
      expect(await isBlockedBy(bed, FIRST)).toBe(SECOND);
      await bed.reschedule(THIRD, { at: LONG_AGO - 1 });

      expect(await handledInTurn(bed)).toEqual([THIRD, SECOND, FIRST]);
    });

    it('places what is run now anew', async ({ bed }) => {
      bed.order = 'continue';
      await bed.publish(FIRST, { due: { after: LONG } });
      await bed.publish(SECOND, { due: { after: 2 * LONG } });
      await bed.broker.messages.runNow(bed.partition, bed.nextCall(), SECOND);
      await bed.advance(1);

      expect(await claimable(bed)).toEqual([SECOND]);
      expect(await isBlockedBy(bed, FIRST)).toBe(SECOND);
    });

    it('does not let what is rescheduled overtake what has begun', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      await bed.settle(await bed.claimOne(), RETRY_LATER);
      await bed.reschedule(SECOND, { at: 1 });

      expect(await claimable(bed)).toEqual([]);
    });

    it('places what is replaced anew', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      await bed.publish(FIRST, { onDuplicate: 'replace' });

      expect(await handledInTurn(bed)).toEqual([SECOND, FIRST]);
    });

    it.for([
      { how: 'is acknowledged', outcome: ACK },
      { how: 'has failed', outcome: DEAD },
    ])('places what has replaced a running message once that $how', async ({ outcome }, { bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      const claimed = await bed.claimOne();
      await bed.publish(FIRST, { onDuplicate: 'replace' });
      await bed.settle(claimed, outcome);

      expect(await handledInTurn(bed)).toEqual([SECOND, FIRST]);
    });

    it("places what is due sooner by 'earliest' anew, whether it leads or is blocked", async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND, THIRD);

      expect(await bed.publish(THIRD, { ...due(LONG_AGO - 1), onDuplicate: 'earliest' })).toEqual({
        status: 'ignored',
        dueAt: LONG_AGO - 1,
      });
      expect(await isBlockedBy(bed, FIRST)).toBe(THIRD);
      await bed.publish(THIRD, { ...due(LONG_AGO - 2), onDuplicate: 'earliest' });
      await bed.publish(SECOND, { ...due(LONG_AGO), onDuplicate: 'earliest' });

      expect(await handledInTurn(bed)).toEqual([THIRD, FIRST, SECOND]);
    });

    it('does not let what is due sooner overtake what has begun', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      await bed.settle(await bed.claimOne(), RETRY_LATER);
      await bed.publish(SECOND, { ...due(1), onDuplicate: 'earliest' });

      expect(await claimable(bed)).toEqual([]);
      expect(await isBlockedBy(bed, SECOND)).toBe(FIRST);
    });

    it('places by the due time that the longest wait allows', async ({ bed }) => {
      bed.order = 'continue';
      await bed.publish(FIRST, { due: { after: LONG } });
      await bed.publish(SECOND, { due: { after: 2 * LONG }, onDuplicate: 'replace', maxWait: 0 });

      expect(await isBlockedBy(bed, FIRST)).toBe(SECOND);
    });

    it('places a dead letter that is requeued anew', async ({ bed }) => {
      bed.order = 'continue';
      await publishAll(bed, FIRST, SECOND);
      await bed.settle(await bed.claimOne(), DEAD);
      await requeue(bed, FIRST);
      await bed.advance(1);

      expect(await handledInTurn(bed)).toEqual([SECOND, FIRST]);
    });
  });
}
