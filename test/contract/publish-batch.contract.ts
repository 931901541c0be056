import { describe, expect } from 'vitest';
import { type BrokerTest, DEAD, LONG, LONG_AGO, message } from '../support/broker/broker-bed.js';
import { FIRST, OTHER, SECOND, THIRD, claimable, due, handledInTurn } from '../support/broker/ordered-messages.js';

/** So many messages of a call are written with few commands, and make a table of a short list. */
const MANY = 60;

const NEW = { onDuplicate: 'impossible' } as const;

/** Messages of one key, the ids of which are in the opposite order. */
const inReverse = Array.from({ length: MANY }, (_, i) => `${100 - i}\0k`);

export function publishBatchContract(it: BrokerTest): void {
  describe('many messages in one call', () => {
    it('are due at their own times', async ({ bed }) => {
      const messages = inReverse.map((id, i) => message(id, { ...NEW, due: { at: LONG_AGO + ((7 * i) % MANY) } }));

      await bed.publishAll(messages);

      expect((await bed.claim({ max: MANY })).messages.map(({ storedId, dueAt }) => [storedId, dueAt])).toEqual(
        messages
          .map(({ storedId }, i) => [storedId, LONG_AGO + ((7 * i) % MANY)] as const)
          .toSorted(([, a], [, b]) => a - b),
      );
    });

    it('are found by their ids alone if they have keys of their own, and only then', async ({ bed }) => {
      const ids = Array.from({ length: MANY }, (_, i) => (i % 3 === 0 ? `a${i}` : `a${i}\0k`));

      await bed.publishAll(ids.map((id) => message(id, NEW)));

      for (const [i, storedId] of ids.entries()) {
        expect(await bed.broker.messages.locate(bed.partition, `a${i}`)).toEqual(i % 3 === 0 ? [] : [storedId]);
      }
    });

    it.for([
      { what: 'nothing else', fields: {} },
      { what: 'keys', suffix: '\0k', fields: {} },
      { what: 'keys in an order', suffix: '\0k', order: 'continue', fields: {} },
      { what: 'tags', fields: { tags: ['a', 'b'] } },
      { what: 'longest waits', fields: { onDuplicate: 'replace', maxWait: LONG } },
    ] as const)('with $what are all there is then', async ({ suffix = '', order, fields }, { bed }) => {
      bed.order = order;

      await bed.publishAll(Array.from({ length: MANY }, (_, i) => message(`a${i}${suffix}`, fields)));

      expect(await bed.stats()).toMatchObject({ scheduled: MANY, counters: { published: MANY, repaired: 0 } });
      expect(await handledInTurn(bed)).toHaveLength(MANY);
      expect(await bed.stats()).toMatchObject({ scheduled: 0, counters: { acked: MANY, repaired: 0 } });
    });

    it('keep their arrival, however many came before', async ({ bed }) => {
      bed.order = 'continue';
      for (const ids of [inReverse.slice(0, 5), inReverse.slice(5, 15), inReverse.slice(15)]) {
        await bed.publishAll(ids.map((id) => message(id, { ...NEW, due: { at: LONG_AGO } })));
      }

      expect(await handledInTurn(bed)).toEqual(inReverse);
    });

    it('come before the head of their key if they are due before it', async ({ bed }) => {
      bed.order = 'continue';
      await bed.publish(FIRST, due(LONG_AGO + 2));
      await bed.publishAll([
        message(SECOND, { ...NEW, ...due(LONG_AGO + 1) }),
        message(OTHER, { ...NEW, ...due(LONG_AGO + 1) }),
        message(THIRD, { ...NEW, ...due(LONG_AGO) }),
      ]);

      expect(await handledInTurn(bed)).toEqual([THIRD, OTHER, SECOND, FIRST]);
    });

    it('wait for a head that has begun, or is dead and blocks', async ({ bed }) => {
      bed.order = 'block';
      await bed.publish(FIRST, due(LONG_AGO + 2));
      const first = await bed.claimOne();
      await bed.publishAll([SECOND, OTHER].map((id) => message(id, { ...NEW, ...due(LONG_AGO) })));

      expect(await claimable(bed)).toEqual([OTHER]);

      await bed.settle(first, DEAD);
      await bed.publishAll([message(THIRD, { ...NEW, ...due(LONG_AGO) })]);

      expect(await claimable(bed)).toEqual([]);
    });

    it('keep their order beside those with a longest wait', async ({ bed }) => {
      bed.order = 'continue';
      const waits = { onDuplicate: 'replace', maxWait: LONG } as const;
      await bed.publishAll([
        message(SECOND, { ...NEW, ...due(LONG_AGO) }),
        message(FIRST, { ...waits, ...due(LONG_AGO) }),
        message(THIRD, { ...NEW, ...due(LONG_AGO) }),
      ]);

      expect(await handledInTurn(bed)).toEqual([SECOND, FIRST, THIRD]);
    });
  });
}
