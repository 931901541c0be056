import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { PartitionSignal } from '../../lib/store/fleet/signals.js';
import type { CallId } from '../../lib/store/partition.js';
import { fromStoredId, toStoredId } from '../../lib/messages/stored-id.js';
import { type BrokerTest, DEAD, LONG, RETRY_LATER, message } from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';

/** What the call of a test is known by. */
const CALL: CallId = { caller: 'producer', sequence: 77 };

export function cancelContract(it: BrokerTest): void {
  describe('cancel repeated, though it has found nothing', () => {
    it('does not cancel what was published since nothing was found', async ({ bed }) => {
      expect(await bed.cancel('a', CALL)).toBe('not-found');
      await bed.publish('a');

      expect(await bed.cancel('a', CALL)).toBe('not-found');
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled' });
    });

    it('does not cancel what has taken the place of the one that was seen', async ({ bed }) => {
      await bed.publish('a', { envelope: '[1,"new"]' });
      const at = (await bed.get('a'))?.at as number;
      const cancel = (envelope: string) => bed.broker.messages.cancel(bed.partition, CALL, 'a', { at, envelope });
      expect(await cancel('[1,"old"]')).toBe('not-found');

      expect(await cancel('[1,"new"]')).toBe('not-found');
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled' });
    });
  });

  describe('cancel', () => {
    it('removes a message that waits', async ({ bed }) => {
      await bed.publish('a');

      expect(await bed.cancel('a')).toBe('cancelled');

      expect(await bed.get('a')).toBeUndefined();
      expect(await bed.claim()).toMatchObject({ messages: [], nextAt: undefined });
      expect(await bed.cancel('a')).toBe('not-found');
    });

    it('leaves the other messages alone', async ({ bed }) => {
      await bed.publishAll([message('a'), message('b')]);
      await bed.cancel('a');

      expect((await bed.claim()).messages).toMatchObject([{ storedId: 'b' }]);
    });

    it('removes all of a message that waits for its retry', async ({ bed }) => {
      await bed.settled('a', RETRY_LATER);

      expect(await bed.cancel('a')).toBe('cancelled');

      await bed.publish('a');
      expect(await bed.get('a')).toMatchObject({ deliveries: 0, attempts: 0, failure: undefined });
      expect(await bed.claimOne()).toMatchObject({ delivery: 1, attempt: 1 });
    });

    it('marks a message in flight and signals its receipt to the owner', async ({ bed }) => {
      const signals = new Received<PartitionSignal>();
      const storedId = toStoredId('id with spaces', 'the key');
      const { token } = await bed.deliver(storedId);
      await bed.earlierSignalsArrived();
      bed.broker.watchPartition(bed.partition, signals.listener);
      await bed.broker.link.listen();
      const before = await bed.get(storedId);

      expect(await bed.cancel(storedId)).toBe('in-flight');

      expect(await signals.atLeast(1)).toEqual([{ kind: 'cancelled', storedId, token }]);
      expect(await bed.get(storedId)).toEqual(before);
      expect(before).toMatchObject({ state: 'in-flight' });
    });

    it('may be repeated while the message is in flight', async ({ bed }) => {
      const claimed = await bed.deliver('a');

      expect(await bed.cancel('a')).toBe('in-flight');
      expect(await bed.cancel('a')).toBe('in-flight');
      expect(await bed.settle(claimed, RETRY_LATER)).toBe('cancelled');
      expect((await bed.stats()).counters.cancelled).toBe(1);
    });

    it('finds nothing where nothing is', async ({ bed }) => {
      await bed.publish('other');

      expect(await bed.cancel('a')).toBe('not-found');
      expect(await bed.broker.messages.cancel({ ...bed.partition, index: 1 }, bed.nextCall(), 'other')).toBe(
        'not-found',
      );
    });

    it('does not take a dead letter', async ({ bed }) => {
      await bed.settled('a', DEAD);

      expect(await bed.cancel('a')).toBe('not-found');
      expect(await bed.get('a')).toMatchObject({ state: 'dead' });
    });

    it('leaves a message with the same id and another key alone', async ({ bed }) => {
      const keyed = toStoredId('id', 'key');
      await bed.publishAll([message('id'), message(keyed)]);

      expect(await bed.cancel('id')).toBe('cancelled');
      expect(await bed.get(keyed)).toMatchObject({ state: 'scheduled' });
    });
  });

  describe('locate', () => {
    it('finds the stored id of a message that has a key of its own', async ({ bed }) => {
      const storedId = toStoredId('id', 'key');
      await bed.publish(storedId, { due: { after: LONG } });

      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([storedId]);
      expect(await bed.cancel(storedId)).toBe('cancelled');
      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([]);
    });

    it('does not find a message without a key of its own', async ({ bed }) => {
      await bed.publish('id');

      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([]);
    });

    it('does not take one id for another that it begins with', async ({ bed }) => {
      await bed.publishAll(['order-10', 'order', 'order-1 '].map((id) => message(toStoredId(id, 'key'))));

      expect(await bed.broker.messages.locate(bed.partition, 'order-1')).toEqual([]);
      expect(await bed.broker.messages.locate(bed.partition, 'key')).toEqual([]);
      expect(await bed.broker.messages.locate(bed.partition, 'order')).toEqual([toStoredId('order', 'key')]);
    });

    it('takes any character of an id as it is', async ({ bed }) => {
      for (const id of ['[a', '(b', '+', '-', 'é\u{1F600}', 'a b', '\u0001', '.', '.b', randomUUID()]) {
        await bed.publish(toStoredId(id, 'key'));
        expect(await bed.broker.messages.locate(bed.partition, id)).toEqual([toStoredId(id, 'key')]);
      }
    });

    it('finds several keys, in order', async ({ bed }) => {
      await bed.publishAll([message(toStoredId('id', 'key 2')), message(toStoredId('id', 'key 1'))]);

      const found = await bed.broker.messages.locate(bed.partition, 'id');

      expect(found.map(fromStoredId)).toEqual([
        { id: 'id', key: 'key 1' },
        { id: 'id', key: 'key 2' },
      ]);
    });

    it('finds a message in flight, waiting for its retry, or dead', async ({ bed }) => {
      const storedId = toStoredId('id', 'key');
      const claimed = await bed.deliver(storedId);
      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([storedId]);
      await bed.settle(claimed, RETRY_LATER);
      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([storedId]);

      const dead = toStoredId('dead', 'key');
      await bed.settled(dead, DEAD);
      expect(await bed.broker.messages.locate(bed.partition, 'dead')).toEqual([dead]);
    });

    it('looks in one partition only', async ({ bed }) => {
      await bed.publish(toStoredId('id', 'key'));

      expect(await bed.broker.messages.locate({ ...bed.partition, index: 1 }, 'id')).toEqual([]);
    });
  });
}
