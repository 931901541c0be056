import { describe, expect } from 'vitest';
import type { StoredMessage } from '../../lib/store/messages/stored-message.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { type BrokerBed, type BrokerTest, ACK, DEAD, LONG, message } from '../support/broker/broker-bed.js';

interface Limits {
  maxAge?: number;
  maxCount?: number;
}

/** Steps until there is nothing more to do now, and answers when there will be. */
async function trim(bed: BrokerBed, limits: Limits): Promise<number | undefined> {
  for (;;) {
    const next = await bed.broker.deadLetters.trimDead(bed.partition, limits);
    if (next === undefined || next > (await bed.time())) return next;
  }
}

async function dead(bed: BrokerBed, ids: readonly string[]): Promise<string[]> {
  const stored = await Promise.all(ids.map((id) => bed.get(id)));
  return stored.filter((found): found is StoredMessage => found !== undefined).map(({ storedId }) => storedId);
}

export function trimDeadContract(it: BrokerTest): void {
  describe('trimDead', () => {
    it('keeps everything where there is no limit', async ({ bed }) => {
      await bed.settled('a', DEAD);

      expect(await bed.broker.deadLetters.trimDead(bed.partition, {})).toBeUndefined();
      expect(
        await bed.broker.deadLetters.trimDead(bed.partition, { maxAge: undefined, maxCount: undefined }),
      ).toBeUndefined();
      expect(await dead(bed, ['a'])).toEqual(['a']);
    });

    it('has nothing to do where nothing is dead', async ({ bed }) => {
      await bed.deliver('in flight');
      await bed.publish('alive');

      expect(await bed.broker.deadLetters.trimDead(bed.partition, { maxAge: 1, maxCount: 0 })).toBeUndefined();
      expect(await bed.stats()).toMatchObject({ scheduled: 1, inFlight: 1 });
    });

    it('removes those that are older than the limit, and says when the next one will be', async ({ bed }) => {
      let [next, young, maxAge]: [number | undefined, number, number] = [undefined, 0, 0];
      do {
        await trim(bed, { maxCount: 0 });
        await bed.settled('old', DEAD);
        await bed.advance(50);
        await bed.settled('young', DEAD);
        young = (await bed.get('young'))?.at ?? NaN;
        maxAge = Math.floor(await bed.time()) - ((await bed.get('old'))?.at ?? NaN);
        next = await trim(bed, { maxAge });
        // Once more where the machine was so slow that the young one may have reached the limit too.
      } while (Math.floor(await bed.time()) - maxAge >= young);

      expect(next).toBe(young + maxAge);
      expect(await dead(bed, ['old', 'young'])).toEqual(['young']);
    });

    it('keeps those that are younger than the limit', async ({ bed }) => {
      await bed.settled('a', DEAD);
      const at = (await bed.get('a'))?.at ?? 0;

      expect(await trim(bed, { maxAge: LONG })).toBe(at + LONG);
      expect(await dead(bed, ['a'])).toEqual(['a']);
    });

    it('removes a dead letter whose age has reached the limit', async ({ bed }) => {
      await bed.settled('a', DEAD);
      const at = (await bed.get('a'))?.at ?? 0;
      await bed.advance(10);

      expect(await trim(bed, { maxAge: 10 })).toBeUndefined();
      expect(await dead(bed, ['a'])).toEqual([]);
      expect(at + 10).toBeLessThanOrEqual(await bed.time());
    });

    it('removes the oldest beyond the greatest number', async ({ bed }) => {
      for (const id of ['first', 'second', 'third']) {
        await bed.settled(id, DEAD);
        await bed.advance(1);
      }

      expect(await trim(bed, { maxCount: 2 })).toBeUndefined();
      expect(await dead(bed, ['first', 'second', 'third'])).toEqual(['second', 'third']);
      await trim(bed, { maxCount: 2 });
      expect(await bed.stats()).toMatchObject({ dead: 2 });
    });

    it('heeds both limits', async ({ bed }) => {
      for (const id of ['first', 'second', 'third']) {
        await bed.settled(id, DEAD);
        await bed.advance(1);
      }
      const third = (await bed.get('third'))?.at ?? 0;

      expect(await trim(bed, { maxAge: LONG, maxCount: 1 })).toBe(third + LONG);
      expect(await dead(bed, ['first', 'second', 'third'])).toEqual(['third']);
      expect(await trim(bed, { maxAge: 0, maxCount: 5 })).toBeUndefined();
      expect(await dead(bed, ['third'])).toEqual([]);
    });

    it('removes any number, step by step', async ({ bed }) => {
      for (const half of ['a', 'b']) {
        const ids = Array.from({ length: 175 }, (_, i) => `${half}-${i}`);
        await bed.publishAll(ids.map((id) => message(id)));
        const { messages } = await bed.claim();
        await bed.settleAll(messages.map((claimed) => [claimed, DEAD]));
      }
      expect(await bed.stats()).toMatchObject({ dead: 350 });

      expect(await trim(bed, { maxCount: 30 })).toBeUndefined();
      expect(await bed.stats()).toMatchObject({ dead: 30 });
      await bed.advance(1);
      expect(await trim(bed, { maxAge: 1 })).toBeUndefined();
      expect(await bed.stats()).toMatchObject({ dead: 0 });
    });

    it('leaves nothing of what it removes', async ({ bed }) => {
      const storedId = toStoredId('id', 'key');
      await bed.settled(storedId, DEAD);
      await trim(bed, { maxCount: 0 });

      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([]);
      expect(await bed.publish(storedId)).toMatchObject({ status: 'created' });
      expect(await bed.get(storedId)).toMatchObject({ deliveries: 0, attempts: 0, failure: undefined });
      expect(await bed.settle(await bed.claimOne(), ACK)).toBe('settled');
    });
  });
}
