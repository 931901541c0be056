import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { PartitionSignal } from '../../lib/broker/broker.interface.js';
import { fromStoredId, toStoredId } from '../../lib/messages/stored-id.js';
import { type BrokerTest, DEAD, LONG, RETRY_LATER, message } from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';

export function cancelContract(it: BrokerTest): void {
  describe('cancel', () => {
    it('removes a message that waits', async ({ bench }) => {
      await bench.publish('a');

      expect(await bench.cancel('a')).toBe('cancelled');

      expect(await bench.get('a')).toBeUndefined();
      expect(await bench.claim()).toMatchObject({ messages: [], nextAt: undefined });
      expect(await bench.cancel('a')).toBe('not-found');
    });

    it('leaves the other messages alone', async ({ bench }) => {
      await bench.publishAll([message('a'), message('b')]);
      await bench.cancel('a');

      expect((await bench.claim()).messages).toMatchObject([{ storedId: 'b' }]);
    });

    it('removes all of a message that waits for its retry', async ({ bench }) => {
      await bench.settled('a', RETRY_LATER);

      expect(await bench.cancel('a')).toBe('cancelled');

      await bench.publish('a');
      expect(await bench.get('a')).toMatchObject({ deliveries: 0, attempts: 0, failure: undefined });
      expect(await bench.claimOne()).toMatchObject({ delivery: 1, attempt: 1 });
    });

    it('marks a message in flight and signals its receipt to the owner', async ({ bench }) => {
      const signals = new Received<PartitionSignal>();
      const storedId = toStoredId('id with spaces', 'the key');
      const { token } = await bench.deliver(storedId);
      await bench.earlierSignalsArrived();
      bench.broker.watchPartition(bench.partition, signals.listener);
      await bench.broker.link.listen();
      const before = await bench.get(storedId);

      expect(await bench.cancel(storedId)).toBe('in-flight');

      expect(await signals.atLeast(1)).toEqual([{ kind: 'cancelled', storedId, token }]);
      expect(await bench.get(storedId)).toEqual(before);
      expect(before).toMatchObject({ state: 'in-flight' });
    });

    it('may be repeated while the message is in flight', async ({ bench }) => {
      const claimed = await bench.deliver('a');

      expect(await bench.cancel('a')).toBe('in-flight');
      expect(await bench.cancel('a')).toBe('in-flight');
      expect(await bench.settle(claimed, RETRY_LATER)).toBe('cancelled');
      expect((await bench.broker.stats(bench.partition)).counters.cancelled).toBe(1);
    });

    it('finds nothing where nothing is', async ({ bench }) => {
      await bench.publish('other');

      expect(await bench.cancel('a')).toBe('not-found');
      expect(await bench.broker.cancel({ ...bench.partition, index: 1 }, bench.nextCall(), 'other')).toBe('not-found');
    });

    it('does not take a dead letter', async ({ bench }) => {
      await bench.settled('a', DEAD);

      expect(await bench.cancel('a')).toBe('not-found');
      expect(await bench.get('a')).toMatchObject({ state: 'dead' });
    });

    it('leaves a message with the same id and another key alone', async ({ bench }) => {
      const keyed = toStoredId('id', 'key');
      await bench.publishAll([message('id'), message(keyed)]);

      expect(await bench.cancel('id')).toBe('cancelled');
      expect(await bench.get(keyed)).toMatchObject({ state: 'scheduled' });
    });
  });

  describe('locate', () => {
    it('finds the stored id of a message that has a key of its own', async ({ bench }) => {
      const storedId = toStoredId('id', 'key');
      await bench.publish(storedId, { due: { after: LONG } });

      expect(await bench.broker.locate(bench.partition, 'id')).toEqual([storedId]);
      expect(await bench.cancel(storedId)).toBe('cancelled');
      expect(await bench.broker.locate(bench.partition, 'id')).toEqual([]);
    });

    it('does not find a message without a key of its own', async ({ bench }) => {
      await bench.publish('id');

      expect(await bench.broker.locate(bench.partition, 'id')).toEqual([]);
    });

    it('does not take one id for another that it begins with', async ({ bench }) => {
      await bench.publishAll(['order-10', 'order', 'order-1 '].map((id) => message(toStoredId(id, 'key'))));

      expect(await bench.broker.locate(bench.partition, 'order-1')).toEqual([]);
      expect(await bench.broker.locate(bench.partition, 'key')).toEqual([]);
      expect(await bench.broker.locate(bench.partition, 'order')).toEqual([toStoredId('order', 'key')]);
    });

    it('takes any character of an id as it is', async ({ bench }) => {
      for (const id of ['[a', '(b', '+', '-', 'é\u{1F600}', 'a b', '\u0001', '.', '.b', randomUUID()]) {
        await bench.publish(toStoredId(id, 'key'));
        expect(await bench.broker.locate(bench.partition, id)).toEqual([toStoredId(id, 'key')]);
      }
    });

    it('finds several keys, in order', async ({ bench }) => {
      await bench.publishAll([message(toStoredId('id', 'key 2')), message(toStoredId('id', 'key 1'))]);

      const found = await bench.broker.locate(bench.partition, 'id');

      expect(found.map(fromStoredId)).toEqual([
        { id: 'id', key: 'key 1' },
        { id: 'id', key: 'key 2' },
      ]);
    });

    it('finds a message in flight, waiting for its retry, or dead', async ({ bench }) => {
      const storedId = toStoredId('id', 'key');
      const claimed = await bench.deliver(storedId);
      expect(await bench.broker.locate(bench.partition, 'id')).toEqual([storedId]);
      await bench.settle(claimed, RETRY_LATER);
      expect(await bench.broker.locate(bench.partition, 'id')).toEqual([storedId]);

      const dead = toStoredId('dead', 'key');
      await bench.settled(dead, DEAD);
      expect(await bench.broker.locate(bench.partition, 'dead')).toEqual([dead]);
    });

    it('looks in one partition only', async ({ bench }) => {
      await bench.publish(toStoredId('id', 'key'));

      expect(await bench.broker.locate({ ...bench.partition, index: 1 }, 'id')).toEqual([]);
    });
  });
}
