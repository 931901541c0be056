import { describe, expect } from 'vitest';
import type { ClaimedMessage } from '../../lib/store/deliveries/claim.js';
import { MAX_BATCH } from '../../lib/store/partition.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import { type BrokerTest, ACK, LONG, LONG_AGO, message } from '../support/broker/broker-bed.js';

export function publishContract(it: BrokerTest): void {
  describe('publish', () => {
    it('stores a message as scheduled at the given time', async ({ bed }) => {
      const at = Math.ceil(await bed.time()) + LONG;

      const result = await bed.publish('a', { envelope: '[1,"x"]', due: { at } });

      expect(result).toMatchObject({ status: 'created', dueAt: at });
      expect(await bed.get('a')).toEqual({
        storedId: 'a',
        state: 'scheduled',
        envelope: '[1,"x"]',
        at,
        deliveries: 0,
        attempts: 0,
        failure: undefined,
        history: [],
      });
    });

    it('keeps a due time that has passed as it is', async ({ bed }) => {
      expect(await bed.publish('a', { due: { at: LONG_AGO } })).toMatchObject({ status: 'created', dueAt: LONG_AGO });
    });

    it('counts a delay from its own clock and rounds up to the millisecond', async ({ bed }) => {
      for (const delay of [0, 1, 250, LONG]) {
        const before = await bed.time();
        const { dueAt } = await bed.publish(`after ${delay}`, { due: { after: delay } });
        const after = await bed.time();

        expect(Number.isInteger(dueAt)).toBe(true);
        expect(dueAt).toBeGreaterThanOrEqual(before + delay);
        expect(dueAt).toBeLessThan(after + delay + 1);
      }
    });

    it('delivers a message when its delay is over, and not before', async ({ bed }) => {
      const { dueAt } = await bed.publish('a', { due: { after: 25 } });

      let messages: ClaimedMessage[];
      let answeredAt: number;
      do {
        await bed.advance(1);
        ({ messages } = await bed.claim());
        answeredAt = await bed.time();
      } while (messages.length === 0 && answeredAt < dueAt + 5000);

      expect(messages).toMatchObject([{ storedId: 'a', dueAt }]);
      expect(answeredAt).toBeGreaterThanOrEqual(dueAt);
    });

    it('does not deliver before a due time that is far away', async ({ bed }) => {
      const tenYears = 10 * 365.25 * 86_400_000;
      const { dueAt } = await bed.publish('a', { due: { after: tenYears } });

      expect(await bed.claim()).toMatchObject({ messages: [], nextAt: dueAt });
    });

    it('answers in the order of the messages', async ({ bed }) => {
      const results = await bed.publishAll([
        message('c', { due: { at: 3 } }),
        message('a', { due: { at: 1 } }),
        message('c', { due: { at: 9 } }),
        message('b', { due: { at: 2 } }),
      ]);

      expect(results).toMatchObject([
        { status: 'created', dueAt: 3 },
        { status: 'created', dueAt: 1 },
        { status: 'rejected', dueAt: 3 },
        { status: 'created', dueAt: 2 },
      ]);
    });

    it('takes as many messages as a call may have', async ({ bed }) => {
      const messages = Array.from({ length: MAX_BATCH }, (_, i) => message(toStoredId(`id-${i}`, 'key')));

      const results = await bed.publishAll(messages);

      expect(results).toMatchObject(messages.map(() => ({ status: 'created', dueAt: LONG_AGO })));
      expect(await bed.stats()).toMatchObject({ scheduled: MAX_BATCH, due: MAX_BATCH });
    });

    it('delivers in order of the due times', async ({ bed }) => {
      await bed.publishAll([5, 1, 4, 2, 3].map((at) => message(`at ${at}`, { due: { at } })));
      await bed.publish('at 0', { due: { at: 0 } });

      const { messages } = await bed.claim();

      expect(messages.map(({ dueAt }) => dueAt)).toEqual([0, 1, 2, 3, 4, 5]);
      expect(messages.map(({ storedId }) => storedId)).toEqual([0, 1, 2, 3, 4, 5].map((at) => `at ${at}`));
    });

    it('delivers messages with the same due time in order of their ids', async ({ bed }) => {
      await bed.publishAll(['b', 'a2', 'c', 'a', 'B', 'a1'].map((id) => message(id)));

      const { messages } = await bed.claim();

      expect(messages.map(({ storedId }) => storedId)).toEqual(['B', 'a', 'a1', 'a2', 'b', 'c']);
    });

    it('orders ids by their UTF-8 bytes', async ({ bed }) => {
      const ids = ['z', 'é', '\uFF5A', '\u{1F600}'];
      await bed.publishAll(ids.toReversed().map((id) => message(id)));

      const { messages } = await bed.claim();

      expect(messages.map(({ storedId }) => storedId)).toEqual(ids);
    });

    it('keeps messages with the same id and different keys apart, in one partition too', async ({ bed }) => {
      const ids = ['id', toStoredId('id', 'key 1'), toStoredId('id', 'key 2')];
      const messages = ids.map((id) => message(id));
      expect((await bed.publishAll(messages)).map(({ status }) => status)).toEqual(['created', 'created', 'created']);

      const claimed = await bed.claim();
      expect(claimed.messages.map(({ storedId, envelope }) => [storedId, envelope])).toEqual(
        messages.map(({ storedId, envelope }) => [storedId, envelope]),
      );

      const [first, second, third] = claimed.messages.map(({ storedId, token }) => ({ storedId, token }));
      if (!first || !second || !third) throw new Error('three were claimed');
      await bed.settleAll([[second, ACK]]);
      expect(await bed.get(second.storedId)).toBeUndefined();
      expect(await bed.get(first.storedId)).toMatchObject({ state: 'in-flight' });
      expect(await bed.get(third.storedId)).toMatchObject({ state: 'in-flight' });
    });

    it('tells duplicates by id and key', async ({ bed }) => {
      await bed.publish(toStoredId('id', 'key'));

      expect(await bed.publish('id')).toMatchObject({ status: 'created' });
      expect(await bed.publish(toStoredId('id', 'key'))).toMatchObject({ status: 'rejected' });
      expect(await bed.publish('id')).toMatchObject({ status: 'rejected' });
    });

    it('takes the id of an acknowledged message as new', async ({ bed }) => {
      await bed.settled('a', ACK);

      expect(await bed.publish('a')).toMatchObject({ status: 'created' });
      expect(await bed.claimOne()).toMatchObject({ storedId: 'a', delivery: 1, attempt: 1 });
    });

    it('says in the first result of a call whether the partition has counted no message yet', async ({ bed }) => {
      const messages = [message('a'), message('b')];
      const call = bed.nextCall();
      const results = [
        { status: 'created', dueAt: LONG_AGO, isNewPartition: true },
        { status: 'created', dueAt: LONG_AGO },
      ];
      expect(await bed.publishAll(messages, call)).toEqual(results);
      expect(await bed.publishAll(messages, call)).toEqual(results);

      const later = [message('a', { onDuplicate: 'ignore' }), message('c'), message('b', { onDuplicate: 'replace' })];
      expect(await bed.publishAll(later)).toEqual([
        { status: 'ignored', dueAt: LONG_AGO },
        { status: 'created', dueAt: LONG_AGO },
        { status: 'replaced', dueAt: LONG_AGO },
      ]);
    });

    it('says so too if a duplicate came in the same call', async ({ bed }) => {
      const results = await bed.publishAll([message('a'), message('a'), message('a', { onDuplicate: 'replace' })]);

      expect(results).toEqual([
        { status: 'created', dueAt: LONG_AGO, isNewPartition: true },
        { status: 'rejected', dueAt: LONG_AGO },
        { status: 'replaced', dueAt: LONG_AGO },
      ]);
    });

    it('keeps partitions and topics apart', async ({ bed }) => {
      await bed.publish('a');
      const elsewhere = [
        { ...bed.partition, index: 1 },
        { ...bed.partition, topic: `${bed.partition.topic}.other` },
      ];

      for (const partition of elsewhere) {
        expect(await bed.broker.messages.get(partition, 'a')).toBeUndefined();
        expect(await bed.broker.messages.publish(partition, bed.nextCall(), [message('a')])).toMatchObject([
          { status: 'created' },
        ]);
      }
    });
  });
}
