import { describe, expect } from 'vitest';
import { MAX_BATCH } from '../../lib/broker/broker.interface.js';
import { type BrokerTest, ACK, LONG, LONG_AGO, RETRY, message } from '../support/broker/broker-bed.js';

export function claimContract(it: BrokerTest): void {
  describe('claim', () => {
    it('hands a due message out with all that its handler needs', async ({ bench }) => {
      await bench.publish('a', { envelope: '[7,"payload"]' });

      const result = await bench.claim();

      expect(result).toMatchObject({ status: 'claimed', repaired: 0 });
      expect(result.messages).toEqual([
        { storedId: 'a', envelope: '[7,"payload"]', token: 1, delivery: 1, attempt: 1, dueAt: LONG_AGO },
      ]);
      expect(result.token).toBe(1);
    });

    it('refuses whoever does not own the partition, and changes nothing', async ({ bench }) => {
      const request = { max: 1, lease: LONG, knownToken: 0 };
      const nobodys = { ...bench.partition, index: 1 };
      await bench.publish('a');
      await bench.broker.publish(nobodys, bench.nextCall(), [message('a')]);

      const refused = { status: 'not-owner' };
      expect(await bench.broker.claim(bench.partition, { ...request, member: 'somebody else' })).toEqual(refused);
      expect(await bench.broker.claim(nobodys, { ...request, member: bench.owner })).toEqual(refused);

      expect(await bench.get('a')).toMatchObject({ state: 'scheduled', deliveries: 0 });
    });

    it('refuses an owner that has released the partition', async ({ bench }) => {
      await bench.publish('a');
      await bench.broker.release(bench.partition, bench.owner);

      const request = { member: bench.owner, max: 1, lease: LONG, knownToken: 0 };
      expect(await bench.broker.claim(bench.partition, request)).toEqual({ status: 'not-owner' });
    });

    it('refuses an owner whose session has ended', async ({ bench }) => {
      await bench.publish('a');
      await bench.broker.renew(bench.partition, bench.owner, 5);
      await bench.advance(6);

      const request = { member: bench.owner, max: 1, lease: LONG, knownToken: 0 };
      expect(await bench.broker.claim(bench.partition, request)).toEqual({ status: 'not-owner' });
    });

    it('hands out no more than is wanted', async ({ bench }) => {
      await bench.publishAll(['a', 'b', 'c'].map((id) => message(id)));

      expect((await bench.claim({ max: 2 })).messages.map(({ storedId }) => storedId)).toEqual(['a', 'b']);
      expect((await bench.claim({ max: 2 })).messages.map(({ storedId }) => storedId)).toEqual(['c']);
      expect((await bench.claim({ max: 2 })).messages).toEqual([]);
    });

    it('hands out as many as a call may have', async ({ bench }) => {
      const ids = Array.from({ length: MAX_BATCH + 1 }, (_, i) => `id-${String(i).padStart(3, '0')}`);
      await bench.publishAll(ids.slice(0, MAX_BATCH).map((id) => message(id)));
      await bench.publishAll(ids.slice(MAX_BATCH).map((id) => message(id)));

      const { messages } = await bench.claim({ max: MAX_BATCH });

      expect(messages.map(({ storedId }) => storedId)).toEqual(ids.slice(0, MAX_BATCH));
      expect(messages.map(({ token }) => token)).toEqual(ids.slice(0, MAX_BATCH).map((_, i) => i + 1));
    });

    it('gives every delivery a token of its own, higher than all before', async ({ bench }) => {
      await bench.publishAll([message('a'), message('b')]);
      const first = await bench.claim();
      for (const claimed of first.messages) await bench.settle(claimed, RETRY);
      await bench.advance(1);
      const second = await bench.claim();

      expect(first.messages.map(({ token }) => token)).toEqual([1, 2]);
      expect(first.token).toBe(2);
      expect(second.messages.map(({ token }) => token)).toEqual([3, 4]);
      expect(second.token).toBe(4);
      expect((await bench.claim()).token).toBe(4);
    });

    it('does not hand out a second time what is in flight', async ({ bench }) => {
      await bench.deliver('a', { lease: LONG });

      expect((await bench.claim()).messages).toEqual([]);
    });

    it('redelivers when a lease has ended, with the next token and the attempt spent', async ({ bench }) => {
      const first = await bench.deliver('a', { lease: 5 });
      await bench.advance(5);

      const second = await bench.claimOne();

      expect(second).toEqual({ ...first, token: first.token + 1, delivery: 2, attempt: 2 });
    });

    it('counts every ended lease against the attempts', async ({ bench }) => {
      await bench.deliver('a', { lease: 1 });
      for (const attempt of [2, 3, 4]) {
        await bench.advance(1);
        expect(await bench.claimOne({ lease: 1 })).toMatchObject({ attempt, delivery: attempt });
      }
    });

    it('redelivers before it delivers, in order of the ends of the leases', async ({ bench }) => {
      const z = await bench.deliver('z');
      const y = await bench.deliver('y');
      await bench.broker.extend(bench.partition, 5, [z]);
      await bench.broker.extend(bench.partition, 10, [y]);
      await bench.publish('a', { due: { at: 1 } });
      await bench.advance(10);

      const { messages } = await bench.claim();

      expect(messages.map(({ storedId }) => storedId)).toEqual(['z', 'y', 'a']);
    });

    it('counts redeliveries against what is wanted', async ({ bench }) => {
      await bench.publishAll(['a', 'b', 'c', 'd'].map((id) => message(id)));
      await bench.claim({ max: 3, lease: 5 });
      await bench.advance(5);

      expect((await bench.claim({ max: 2 })).messages.map(({ storedId }) => storedId)).toEqual(['a', 'b']);
      expect((await bench.claim({ max: 2 })).messages.map(({ storedId }) => storedId)).toEqual(['c', 'd']);
    });

    it('leaves the deliveries of an earlier owner alone until their leases end', async ({ bench }) => {
      await bench.publishAll([message('long'), message('short')]);
      const long = await bench.claimOne({ lease: LONG });
      await bench.claimOne({ lease: 10 });
      await bench.broker.release(bench.partition, bench.owner);
      const heir = await bench.broker.acquire(bench.partition, 'heir', LONG);
      if (!heir.acquired) throw new Error('the partition was released');

      const request = { member: 'heir', knownToken: heir.token };
      expect(heir.token).toBe(2);
      await bench.advance(10);
      expect((await bench.claim(request)).messages).toMatchObject([{ storedId: 'short', token: 3, attempt: 2 }]);
      expect(await bench.settle(long, ACK)).toBe('settled');
    });

    it('drops a message that was cancelled while in flight when its lease has ended', async ({ bench }) => {
      await bench.deliver('a', { lease: 5 });
      await bench.cancel('a');
      await bench.advance(5);

      expect((await bench.claim()).messages).toEqual([]);
      expect(await bench.get('a')).toBeUndefined();
      const { inFlight, counters } = await bench.broker.stats(bench.partition);
      expect([inFlight, counters.cancelled]).toEqual([0, 1]);
    });

    it('schedules what replaced a message in flight when the lease has ended', async ({ bench }) => {
      await bench.settled('a', RETRY);
      await bench.advance(1);
      await bench.claimOne({ lease: 5 });
      const at = Math.ceil(await bench.time()) + LONG;
      await bench.publish('a', { envelope: '[2,"new"]', due: { at }, onDuplicate: 'replace' });
      await bench.advance(5);

      expect(await bench.claim()).toMatchObject({ messages: [], nextAt: at });
      expect(await bench.get('a')).toMatchObject({ state: 'scheduled', envelope: '[2,"new"]', at, attempts: 0 });
    });

    it('forgets the failure of a message that was replaced in flight when the lease has ended', async ({ bench }) => {
      await bench.settled('a', RETRY);
      await bench.advance(1);
      await bench.claimOne({ lease: 5 });
      await bench.publish('a', { due: { after: LONG }, onDuplicate: 'replace' });
      await bench.advance(5);
      await bench.claim();

      expect(await bench.get('a')).toMatchObject({ state: 'scheduled', failure: undefined });
    });

    it('delivers at once what replaced a message in flight and is due when the lease has ended', async ({ bench }) => {
      await bench.deliver('a', { lease: 5 });
      await bench.publish('a', { envelope: '[2,"new"]', due: { at: 7 }, onDuplicate: 'replace' });
      await bench.advance(5);

      expect((await bench.claim()).messages).toMatchObject([{ envelope: '[2,"new"]', dueAt: 7, attempt: 1, token: 2 }]);
    });

    it('says when there is something to claim again', async ({ bench }) => {
      expect((await bench.claim()).nextAt).toBeUndefined();

      const { dueAt } = await bench.publish('later', { due: { after: LONG } });
      expect((await bench.claim()).nextAt).toBe(dueAt);

      await bench.publishAll([message('a', { due: { at: 1 } }), message('b', { due: { at: 2 } })]);
      const before = await bench.time();
      expect((await bench.claim({ max: 1, lease: LONG / 2 })).nextAt).toBe(2);
      const { nextAt } = await bench.claim({ max: 1, lease: LONG / 2 });
      expect(nextAt).toBe((await bench.get('a'))?.at);
      expect(nextAt).toBeGreaterThan(before + LONG / 2 - 1);
      expect(nextAt).toBeLessThanOrEqual((await bench.time()) + LONG / 2);
    });
  });
}
