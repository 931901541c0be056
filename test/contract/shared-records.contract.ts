import { describe, expect } from 'vitest';
import type { ClaimedMessage } from '../../lib/store/deliveries/claim.js';
import type { NewMessage } from '../../lib/store/messages/publish.js';
import type { Position } from '../../lib/store/messages/stored-message.js';
import {
  ACK,
  type BrokerBed,
  type BrokerTest,
  LONG,
  RELEASE,
  RETRY_LATER,
  message,
} from '../support/broker/broker-bed.js';

const COUNT = 8;

/** Claims a few messages whose deliveries share a record. */
async function sharing(bed: BrokerBed, count = COUNT): Promise<ClaimedMessage[]> {
  const ids = Array.from({ length: count }, (_, i) => `m${String(i).padStart(3, '0')}`);
  await bed.publishAll(ids.map((id) => message(id)));
  const { messages } = await bed.claim({ sharesFrom: 1 });
  expect(messages.map(isShared)).toEqual(ids.map(() => true));
  return messages;
}

function isShared({ token }: ClaimedMessage): boolean {
  return token.includes('+');
}

async function ack(bed: BrokerBed, messages: readonly ClaimedMessage[]): Promise<string[]> {
  return bed.settleAll(messages.map((claimed) => [claimed, ACK]));
}

export function sharedRecordsContract(it: BrokerTest): void {
  describe('deliveries that share a record', () => {
    it('are those of a claim that makes enough of them', async ({ bed }) => {
      await bed.publishAll(['a', 'b', 'c'].map((id) => message(id)));
      expect((await bed.claim({ max: 2, sharesFrom: 3 })).messages.map(isShared)).toEqual([false, false]);
      await bed.publish('d');
      expect((await bed.claim({ sharesFrom: 2 })).messages.map(isShared)).toEqual([true, true]);
    });

    it('are first ones', async ({ bed }) => {
      await bed.settled('again', RELEASE);
      await bed.publish('new');
      expect((await bed.claim({ sharesFrom: 1 })).messages.map(isShared)).toEqual([false, false]);
    });

    it('have records of their own once many claims are open', async ({ bed }) => {
      const ids = Array.from({ length: 65 }, (_, i) => `m${i}`);
      await bed.publishAll(ids.map((id) => message(id)));
      const shared: boolean[] = [];
      for (const _ of ids) shared.push(isShared(await bed.claimOne({ sharesFrom: 1 })));
      expect(shared).toEqual(ids.map((_, i) => i < 64));
    });

    it.for([
      { name: 'all together', parts: [[0, 1, 2, 3, 4, 5, 6, 7]] },
      {
        name: 'in two halves',
        parts: [
          [0, 1, 2, 3],
          [4, 5, 6, 7],
        ],
      },
      { name: 'in any order', parts: [[7, 0, 3, 5], [6, 2], [1], [4]] },
      { name: 'one by one', parts: [[3], [0], [1], [2], [4], [5], [6], [7]] },
    ])('end $name, and are counted till then', async ({ parts }, { bed }) => {
      const claimed = await sharing(bed);
      let left = COUNT;
      for (const part of parts) {
        expect(
          await ack(
            bed,
            part.map((i) => claimed[i] as ClaimedMessage),
          ),
        ).toEqual(part.map(() => 'settled'));
        left -= part.length;
        expect(await bed.stats()).toMatchObject({ inFlight: left });
      }
      expect(await ack(bed, claimed)).toEqual(claimed.map(() => 'stale'));
      expect(await bed.stats()).toMatchObject({ counters: { acked: COUNT, stale: COUNT } });
    });

    it('end with a later claim, beside one that has a record of its own', async ({ bed }) => {
      const own = await bed.deliver('own', { sharesFrom: undefined });
      const claimed = await sharing(bed);
      const [first, ...others] = claimed;
      await bed.publish('next');
      const succeeded = [...others, own, first as ClaimedMessage];
      expect(await bed.claim({ succeeded })).toMatchObject({
        ended: succeeded.map(() => 'settled'),
        messages: [{ storedId: 'next' }],
      });
      expect(await bed.stats()).toMatchObject({ inFlight: 1 });
    });

    it('do not end twice, or under the token of another', async ({ bed }) => {
      const [first, second, ...others] = (await sharing(bed)) as [ClaimedMessage, ClaimedMessage];
      const wrong = { ...first, token: second.token };
      expect(await ack(bed, [wrong, second, second, ...others])).toEqual([
        'stale',
        'settled',
        'stale',
        ...others.map(() => 'settled'),
      ]);
      expect(await bed.get(first.storedId)).toMatchObject({ state: 'in-flight' });
    });

    it('end by the ids at their places alone', async ({ bed }) => {
      const [first, second, ...others] = (await sharing(bed)) as [ClaimedMessage, ClaimedMessage];
      const wrong = { ...first, token: second.token };
      expect(await ack(bed, [wrong, ...others])).toEqual(['stale', ...others.map(() => 'settled')]);
      expect(await ack(bed, [first, second])).toEqual(['settled', 'settled']);
    });

    it('can end in different ways', async ({ bed }) => {
      const [first, second, ...others] = (await sharing(bed)) as [ClaimedMessage, ClaimedMessage];
      await bed.cancel(second.storedId);
      const outcomes = others.map((claimed) => [claimed, ACK] as const);
      expect(await bed.settleAll([[first, RETRY_LATER], [second, RETRY_LATER], ...outcomes])).toEqual([
        'settled',
        'cancelled',
        ...others.map(() => 'settled'),
      ]);
      expect(await bed.stats()).toMatchObject({ inFlight: 0, scheduled: 1 });
    });

    it('are listed one by one, page by page', async ({ bed }) => {
      const claimed = [...(await sharing(bed, 20)), await bed.deliver('last', { lease: 2 * LONG })];
      const found: string[] = [];
      let after: Position | undefined;
      do {
        const request = { state: 'in-flight', limit: 3, maxBytes: 1e6, after } as const;
        const { messages, next } = await bed.broker.messages.peek(bed.partition, request);
        found.push(...messages.map(({ storedId }) => storedId));
        after = next;
      } while (after);
      expect(found).toEqual(claimed.map(({ storedId }) => storedId));
    });

    it('have the same lease until one of them gets another', async ({ bed }) => {
      const claimed = await sharing(bed);
      const [first, ...others] = claimed as [ClaimedMessage];
      expect(await bed.broker.deliveries.extend(bed.partition, 0, others)).toEqual(others.map(() => 'extended'));
      const { messages } = await bed.claim();
      expect(messages).toMatchObject(others.map(({ storedId }) => ({ storedId, delivery: 2 })));
      expect(await ack(bed, [first, ...others])).toEqual(['settled', ...others.map(() => 'stale')]);
    });

    it('are delivered again once it has ended, with their due times', async ({ bed }) => {
      await bed.publishAll(['a', 'b', 'c'].map((id, i) => message(id, { due: { at: i + 1 } })));
      await bed.claim({ sharesFrom: 1, lease: 5 });
      await bed.advance(6);
      const { messages } = await bed.claim({ max: 2, sharesFrom: 1 });
      expect(messages).toMatchObject([
        { storedId: 'a', dueAt: 1, delivery: 2 },
        { storedId: 'b', dueAt: 2, delivery: 2 },
      ]);
      expect((await bed.claim()).messages).toMatchObject([{ storedId: 'c', dueAt: 3, delivery: 2 }]);
    });

    describe('in an ordered topic', () => {
      const [HEAD, OTHER, BEHIND, LAST] = ['a', 'b', 'c\0a', 'd\0a'] as const;

      /** The heads of two keys share a record, and a message of one of them waits. */
      async function withHeads(bed: BrokerBed, fields: Partial<NewMessage> = {}): Promise<ClaimedMessage[]> {
        bed.order = 'continue';
        await bed.publishAll([HEAD, OTHER].map((id) => message(id)));
        const { messages } = await bed.claim({ sharesFrom: 1 });
        expect(messages.map(isShared)).toEqual([true, true]);
        await bed.publishAll([message(BEHIND, fields)]);
        return messages;
      }

      it.for([
        { name: 'by itself', fields: { onDuplicate: 'ignore', maxWait: LONG } },
        { name: 'with others', fields: { onDuplicate: 'impossible' } },
        { name: 'and due earlier', fields: { onDuplicate: 'impossible', due: { at: 1 } } },
      ] as const)('let a message wait that is published $name', async ({ fields }, { bed }) => {
        const succeeded = await withHeads(bed, fields);
        expect(await bed.get(BEHIND)).toMatchObject({ blockedBy: HEAD });
        expect((await bed.claim({ sharesFrom: 1 })).messages).toEqual([]);
        expect(await bed.claim({ succeeded, sharesFrom: 1 })).toMatchObject({
          ended: ['settled', 'settled'],
          messages: [{ storedId: BEHIND }],
        });
      });

      it('keep their key if they come again', async ({ bed }) => {
        const [head, other] = (await withHeads(bed)) as [ClaimedMessage, ClaimedMessage];
        await bed.settleAll([
          [head, RETRY_LATER],
          [other, ACK],
        ]);
        expect((await bed.claim()).messages).toEqual([]);
        expect(await bed.get(BEHIND)).toMatchObject({ blockedBy: HEAD });
      });

      it('let those that are moved wait, too', async ({ bed }) => {
        const succeeded = await withHeads(bed);
        await bed.publishAll([message(LAST)]);
        await bed.reschedule(BEHIND, { at: 1 });
        expect(await bed.get(BEHIND)).toMatchObject({ blockedBy: HEAD, at: 1 });
        expect((await bed.claim({ succeeded })).messages).toMatchObject([{ storedId: BEHIND }]);
      });

      it('let the next one come for each that is done, in any number of keys', async ({ bed }) => {
        bed.order = 'continue';
        const keys = Array.from({ length: 40 }, (_, i) => `k${String(i).padStart(2, '0')}`);
        const behind = ['x', 'y', 'z'];
        const lined = keys.flatMap((key, i) => behind.slice(0, i % 4).map((id) => `${id}\0${key}`));
        await bed.publishAll([...keys, ...lined].map((id) => message(id, { onDuplicate: 'impossible' })));
        const turns: string[][] = [];
        let succeeded: ClaimedMessage[] = [];
        do {
          succeeded = (await bed.claim({ succeeded, sharesFrom: 1 })).messages;
          turns.push(succeeded.map(({ storedId }) => storedId).toSorted());
        } while (succeeded.length > 0);
        expect(turns).toEqual([keys, ...behind.map((id) => lined.filter((one) => one.startsWith(id)).toSorted()), []]);
        expect(await bed.stats()).toMatchObject({ scheduled: 0, blocked: 0, inFlight: 0 });
      });
    });

    describe('with limits of keys', () => {
      const [ONE, TWO, OTHER] = ['a\0k', 'b\0k', 'other'] as const;

      it('count against what is in flight, until they have ended', async ({ bed }) => {
        const limited = { keyLimits: { inFlight: 1 }, sharesFrom: 1 };
        await bed.publishAll([ONE, OTHER].map((id) => message(id)));
        const { messages: succeeded } = await bed.claim(limited);
        expect(succeeded.map(isShared)).toEqual([true, true]);
        await bed.publishAll([message(TWO)]);
        for (let claims = 0; claims < 10; claims++) expect((await bed.claim(limited)).messages).toEqual([]);
        expect((await bed.claim({ ...limited, succeeded })).messages).toMatchObject([{ storedId: TWO }]);
      });

      it('share it with those alone that may begin', async ({ bed }) => {
        const limited = { keyLimits: { rate: { max: 1, per: LONG } }, sharesFrom: 1 };
        await bed.publishAll([ONE, TWO, OTHER].map((id, i) => message(id, { due: { at: i + 1 } })));
        const { messages } = await bed.claim(limited);
        expect(messages.map(isShared)).toEqual([true, true]);
        expect(messages).toMatchObject([
          { storedId: ONE, dueAt: 1 },
          { storedId: OTHER, dueAt: 3 },
        ]);
        expect((await bed.claim(limited)).messages).toEqual([]);
      });
    });
  });
}
