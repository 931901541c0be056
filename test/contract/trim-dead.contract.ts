import { describe, expect } from 'vitest';
import type { StoredMessage } from '../../lib/broker/broker.interface.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { type Bench, type BrokerTest, ACK, DEAD, LONG, message } from '../support/broker/broker-bed.js';

interface Limits {
  maxAge?: number;
  maxCount?: number;
}

/** Steps until there is nothing more to do now, and answers when there will be. */
async function trim(bench: Bench, limits: Limits): Promise<number | undefined> {
  for (;;) {
    const next = await bench.broker.trimDead(bench.partition, limits);
    if (next === undefined || next > (await bench.time())) return next;
  }
}

async function dead(bench: Bench, ids: readonly string[]): Promise<string[]> {
  const stored = await Promise.all(ids.map((id) => bench.get(id)));
  return stored.filter((found): found is StoredMessage => found !== undefined).map(({ storedId }) => storedId);
}

export function trimDeadContract(it: BrokerTest): void {
  describe('trimDead', () => {
    it('keeps everything where there is no limit', async ({ bench }) => {
      await bench.settled('a', DEAD);

      expect(await bench.broker.trimDead(bench.partition, {})).toBeUndefined();
      expect(await bench.broker.trimDead(bench.partition, { maxAge: undefined, maxCount: undefined })).toBeUndefined();
      expect(await dead(bench, ['a'])).toEqual(['a']);
    });

    it('has nothing to do where nothing is dead', async ({ bench }) => {
      await bench.deliver('in flight');
      await bench.publish('alive');

      expect(await bench.broker.trimDead(bench.partition, { maxAge: 1, maxCount: 0 })).toBeUndefined();
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 1, inFlight: 1 });
    });

    it('removes those that are older than the limit, and says when the next one will be', async ({ bench }) => {
      let [next, young, maxAge]: [number | undefined, number, number] = [undefined, 0, 0];
      do {
        await trim(bench, { maxCount: 0 });
        await bench.settled('old', DEAD);
        await bench.advance(50);
        await bench.settled('young', DEAD);
        young = (await bench.get('young'))?.at ?? NaN;
        maxAge = Math.floor(await bench.time()) - ((await bench.get('old'))?.at ?? NaN);
        next = await trim(bench, { maxAge });
        // Once more where the machine was so slow that the young one may have reached the limit too.
      } while (Math.floor(await bench.time()) - maxAge >= young);

      expect(next).toBe(young + maxAge);
      expect(await dead(bench, ['old', 'young'])).toEqual(['young']);
    });

    it('keeps those that are younger than the limit', async ({ bench }) => {
      await bench.settled('a', DEAD);
      const at = (await bench.get('a'))?.at ?? 0;

      expect(await trim(bench, { maxAge: LONG })).toBe(at + LONG);
      expect(await dead(bench, ['a'])).toEqual(['a']);
    });

    it('removes a dead letter whose age has reached the limit', async ({ bench }) => {
      await bench.settled('a', DEAD);
      const at = (await bench.get('a'))?.at ?? 0;
      await bench.advance(10);

      expect(await trim(bench, { maxAge: 10 })).toBeUndefined();
      expect(await dead(bench, ['a'])).toEqual([]);
      expect(at + 10).toBeLessThanOrEqual(await bench.time());
    });

    it('removes the oldest beyond the greatest number', async ({ bench }) => {
      for (const id of ['first', 'second', 'third']) {
        await bench.settled(id, DEAD);
        await bench.advance(1);
      }

      expect(await trim(bench, { maxCount: 2 })).toBeUndefined();
      expect(await dead(bench, ['first', 'second', 'third'])).toEqual(['second', 'third']);
      await trim(bench, { maxCount: 2 });
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ dead: 2 });
    });

    it('heeds both limits', async ({ bench }) => {
      for (const id of ['first', 'second', 'third']) {
        await bench.settled(id, DEAD);
        await bench.advance(1);
      }
      const third = (await bench.get('third'))?.at ?? 0;

      expect(await trim(bench, { maxAge: LONG, maxCount: 1 })).toBe(third + LONG);
      expect(await dead(bench, ['first', 'second', 'third'])).toEqual(['third']);
      expect(await trim(bench, { maxAge: 0, maxCount: 5 })).toBeUndefined();
      expect(await dead(bench, ['third'])).toEqual([]);
    });

    it('removes any number, step by step', async ({ bench }) => {
      for (const half of ['a', 'b']) {
        const ids = Array.from({ length: 175 }, (_, i) => `${half}-${i}`);
        await bench.publishAll(ids.map((id) => message(id)));
        const { messages } = await bench.claim();
        await bench.settleAll(messages.map((claimed) => [claimed, DEAD]));
      }
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ dead: 350 });

      expect(await trim(bench, { maxCount: 30 })).toBeUndefined();
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ dead: 30 });
      await bench.advance(1);
      expect(await trim(bench, { maxAge: 1 })).toBeUndefined();
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ dead: 0 });
    });

    it('leaves nothing of what it removes', async ({ bench }) => {
      const storedId = toStoredId('id', 'key');
      await bench.settled(storedId, DEAD);
      await trim(bench, { maxCount: 0 });

      expect(await bench.broker.locate(bench.partition, 'id')).toEqual([]);
      expect(await bench.publish(storedId)).toMatchObject({ status: 'created' });
      expect(await bench.get(storedId)).toMatchObject({ deliveries: 0, attempts: 0, failure: undefined });
      expect(await bench.settle(await bench.claimOne(), ACK)).toBe('settled');
    });
  });
}
