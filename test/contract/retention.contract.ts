import { describe, expect } from 'vitest';
import type { StoredMessage } from '../../lib/store/messages/stored-message.js';
import { ACK, type BrokerBed, type BrokerTest, LONG, message } from '../support/broker/broker-bed.js';

/** With the topic's option, and a claim that has told the partition of it. */
async function keep(bed: BrokerBed, limits: { maxAge?: number; maxCount?: number } = { maxAge: LONG }): Promise<void> {
  bed.finished = limits;
  await bed.claim({ max: 0 });
}

async function idsOf(bed: BrokerBed): Promise<string[]> {
  const { messages } = await bed.broker.messages.peek(bed.partition, {
    state: 'finished',
    limit: 200,
    maxBytes: 1_000_000,
  });
  return messages.map(({ storedId }) => storedId);
}

/** Steps until there is nothing more to do now, and answers when there will be. */
async function trim(bed: BrokerBed): Promise<number | undefined> {
  for (;;) {
    const next = await bed.broker.deadLetters.trimFinished(bed.partition);
    if (next !== 0) return next;
  }
}

export function retentionContract(it: BrokerTest): void {
  describe('finished messages that are kept', () => {
    it('are the last ones of a partition, as many as the owner asks for', async ({ bed }) => {
      await keep(bed, { maxCount: 2 });
      for (const id of ['a', 'b', 'c']) {
        await bed.settled(id, ACK);
        await bed.advance(1);
      }

      expect(await idsOf(bed)).toEqual(['b', 'c']);
      expect(await bed.publish('a')).toMatchObject({ status: 'created' });
      expect(await bed.publish('b')).toMatchObject({ finishedAs: 'acked' });
      expect(await bed.broker.deadLetters.trimFinished(bed.partition)).toBeUndefined();
    });

    it('are gone once they are too old, whether or not they are removed', async ({ bed }) => {
      await keep(bed, { maxAge: 500 });
      await bed.settled('a', ACK);
      expect(await bed.get('a')).toMatchObject({ state: 'finished' });
      await bed.advance(500);

      expect(await bed.get('a')).toBeUndefined();
      expect(await bed.stats()).toMatchObject({ finished: 1 });
      expect(await bed.publish('a', { onDuplicate: 'ignore' })).toMatchObject({ status: 'created' });
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled' });
    });

    it('are removed once they are too old, and it is said when the next one will be', async ({ bed }) => {
      let [next, young]: [number | undefined, StoredMessage | undefined] = [undefined, undefined];
      for (let i = 0; !young; i++) {
        await keep(bed, { maxAge: LONG });
        await bed.settled(`old-${i}`, ACK);
        await bed.advance(100);
        await keep(bed, { maxAge: 100 });
        await bed.settled(`young-${i}`, ACK);
        next = await trim(bed);
        // Once more if the machine was so slow that the young one may be too old as well.
        young = await bed.get(`young-${i}`);
      }

      expect(next).toBe(young.at + 100);
      expect(await idsOf(bed)).toEqual([young.storedId]);
      await bed.advance(100);
      expect(await trim(bed)).toBeUndefined();
      expect(await bed.stats()).toMatchObject({ finished: 0 });
    });

    it('are removed step by step once fewer are kept, or none any more', async ({ bed }) => {
      await keep(bed);
      for (const half of ['a', 'b', 'c']) {
        await bed.publishAll(Array.from({ length: 150 }, (_, i) => message(`${half}-${i}`)));
        const { messages } = await bed.claim();
        await bed.settleAll(messages.map((claimed) => [claimed, ACK]));
      }
      await keep(bed, { maxCount: 30 });
      await trim(bed);
      expect(await bed.stats()).toMatchObject({ finished: 30 });
      bed.finished = undefined;
      expect(await bed.claim({ max: 0 })).toMatchObject({ keepsFinished: true });
      expect(await bed.publish('c-9', { due: { after: LONG } })).toMatchObject({ status: 'created' });
      await bed.settled('new', ACK);
      expect(await trim(bed)).toBeUndefined();

      expect(await bed.stats()).toMatchObject({ finished: 0 });
      expect(await bed.claim({ max: 0 })).toMatchObject({ keepsFinished: false });
      expect(await bed.get('c-9')).toMatchObject({ state: 'scheduled' });
    });

    it('are kept by what the latest owner asks for, though a late copy of an earlier claim arrives', async ({
      bed,
    }) => {
      await keep(bed, { maxAge: LONG });
      const late = { ...bed.nextClaim(), finished: undefined };
      await bed.claim();
      await bed.claim();
      expect(await bed.broker.deliveries.claim(bed.partition, late)).toMatchObject({ status: 'not-owner' });
      await bed.settled('a', ACK);

      expect(await bed.get('a')).toMatchObject({ ending: { outcome: 'acked' } });
    });
  });
}
