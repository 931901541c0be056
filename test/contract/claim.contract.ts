import { describe, expect } from 'vitest';
import { MAX_BATCH } from '../../lib/broker/broker.interface.js';
import { type BrokerTest, ACK, LONG, LONG_AGO, RETRY, message } from '../support/broker/broker-bed.js';

export function claimContract(it: BrokerTest): void {
  describe('claim', () => {
    it('hands a due message out with all that its handler needs', async ({ bed }) => {
      await bed.publish('a', { envelope: '[7,"payload"]' });

      const result = await bed.claim();

      expect(result).toMatchObject({ status: 'claimed', repaired: 0 });
      expect(result.messages).toEqual([
        { storedId: 'a', envelope: '[7,"payload"]', token: 1, delivery: 1, attempt: 1, dueAt: LONG_AGO },
      ]);
      expect(result.token).toBe(1);
    });

    it('refuses whoever does not own the partition, and changes nothing', async ({ bed }) => {
      const request = { max: 1, lease: LONG, knownToken: 0 };
      const nobodys = { ...bed.partition, index: 1 };
      await bed.publish('a');
      await bed.broker.publish(nobodys, bed.nextCall(), [message('a')]);

      const refused = { status: 'not-owner' };
      expect(await bed.broker.claim(bed.partition, { ...request, member: 'somebody else' })).toEqual(refused);
      expect(await bed.broker.claim(nobodys, { ...request, member: bed.owner })).toEqual(refused);

      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', deliveries: 0 });
    });

    it('refuses an owner that has released the partition', async ({ bed }) => {
      await bed.publish('a');
      await bed.broker.release(bed.partition, bed.owner);

      const request = { member: bed.owner, max: 1, lease: LONG, knownToken: 0 };
      expect(await bed.broker.claim(bed.partition, request)).toEqual({ status: 'not-owner' });
    });

    it('refuses an owner whose session has ended', async ({ bed }) => {
      await bed.publish('a');
      await bed.broker.renew(bed.partition, bed.owner, 5);
      await bed.advance(6);

      const request = { member: bed.owner, max: 1, lease: LONG, knownToken: 0 };
      expect(await bed.broker.claim(bed.partition, request)).toEqual({ status: 'not-owner' });
    });

    it('hands out no more than is wanted', async ({ bed }) => {
      await bed.publishAll(['a', 'b', 'c'].map((id) => message(id)));

      expect((await bed.claim({ max: 2 })).messages.map(({ storedId }) => storedId)).toEqual(['a', 'b']);
      expect((await bed.claim({ max: 2 })).messages.map(({ storedId }) => storedId)).toEqual(['c']);
      expect((await bed.claim({ max: 2 })).messages).toEqual([]);
    });

    it('hands out as many as a call may have', async ({ bed }) => {
      const ids = Array.from({ length: MAX_BATCH + 1 }, (_, i) => `id-${String(i).padStart(3, '0')}`);
      await bed.publishAll(ids.slice(0, MAX_BATCH).map((id) => message(id)));
      await bed.publishAll(ids.slice(MAX_BATCH).map((id) => message(id)));

      const { messages } = await bed.claim({ max: MAX_BATCH });

      expect(messages.map(({ storedId }) => storedId)).toEqual(ids.slice(0, MAX_BATCH));
      expect(messages.map(({ token }) => token)).toEqual(ids.slice(0, MAX_BATCH).map((_, i) => i + 1));
    });

    it('gives every delivery a token of its own, higher than all before', async ({ bed }) => {
      await bed.publishAll([message('a'), message('b')]);
      const first = await bed.claim();
      for (const claimed of first.messages) await bed.settle(claimed, RETRY);
      await bed.advance(1);
      const second = await bed.claim();

      expect(first.messages.map(({ token }) => token)).toEqual([1, 2]);
      expect(first.token).toBe(2);
      expect(second.messages.map(({ token }) => token)).toEqual([3, 4]);
      expect(second.token).toBe(4);
      expect((await bed.claim()).token).toBe(4);
    });

    it('does not hand out a second time what is in flight', async ({ bed }) => {
      await bed.deliver('a', { lease: LONG });

      expect((await bed.claim()).messages).toEqual([]);
    });

    it('redelivers when a lease has ended, with the next token and the attempt spent', async ({ bed }) => {
      const first = await bed.deliver('a', { lease: 5 });
      await bed.advance(5);

      const second = await bed.claimOne();

      expect(second).toEqual({ ...first, token: first.token + 1, delivery: 2, attempt: 2 });
    });

    it('counts every ended lease against the attempts', async ({ bed }) => {
      await bed.deliver('a', { lease: 1 });
      for (const attempt of [2, 3, 4]) {
        await bed.advance(1);
        expect(await bed.claimOne({ lease: 1 })).toMatchObject({ attempt, delivery: attempt });
      }
    });

    it('redelivers before it delivers, in order of the ends of the leases', async ({ bed }) => {
      const z = await bed.deliver('z');
      const y = await bed.deliver('y');
      await bed.broker.extend(bed.partition, 5, [z]);
      await bed.broker.extend(bed.partition, 10, [y]);
      await bed.publish('a', { due: { at: 1 } });
      await bed.advance(10);

      const { messages } = await bed.claim();

      expect(messages.map(({ storedId }) => storedId)).toEqual(['z', 'y', 'a']);
    });

    it('counts redeliveries against what is wanted', async ({ bed }) => {
      await bed.publishAll(['a', 'b', 'c', 'd'].map((id) => message(id)));
      await bed.claim({ max: 3, lease: 5 });
      await bed.advance(5);

      expect((await bed.claim({ max: 2 })).messages.map(({ storedId }) => storedId)).toEqual(['a', 'b']);
      expect((await bed.claim({ max: 2 })).messages.map(({ storedId }) => storedId)).toEqual(['c', 'd']);
    });

    it('leaves the deliveries of an earlier owner alone until their leases end', async ({ bed }) => {
      await bed.publishAll([message('long'), message('short')]);
      const long = await bed.claimOne({ lease: LONG });
      await bed.claimOne({ lease: 10 });
      await bed.broker.release(bed.partition, bed.owner);
      const heir = await bed.broker.acquire(bed.partition, 'heir', LONG);
      if (!heir.acquired) throw new Error('the partition was released');

      const request = { member: 'heir', knownToken: heir.token };
      expect(heir.token).toBe(2);
      await bed.advance(10);
      expect((await bed.claim(request)).messages).toMatchObject([{ storedId: 'short', token: 3, attempt: 2 }]);
      expect(await bed.settle(long, ACK)).toBe('settled');
    });

    it('drops a message that was cancelled while in flight when its lease has ended', async ({ bed }) => {
      await bed.deliver('a', { lease: 5 });
      await bed.cancel('a');
      await bed.advance(5);

      expect((await bed.claim()).messages).toEqual([]);
      expect(await bed.get('a')).toBeUndefined();
      const { inFlight, counters } = await bed.broker.stats(bed.partition);
      expect([inFlight, counters.cancelled]).toEqual([0, 1]);
    });

    it('schedules what replaced a message in flight when the lease has ended', async ({ bed }) => {
      await bed.settled('a', RETRY);
      await bed.advance(1);
      await bed.claimOne({ lease: 5 });
      const at = Math.ceil(await bed.time()) + LONG;
      await bed.publish('a', { envelope: '[2,"new"]', due: { at }, onDuplicate: 'replace' });
      await bed.advance(5);

      expect(await bed.claim()).toMatchObject({ messages: [], nextAt: at });
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', envelope: '[2,"new"]', at, attempts: 0 });
    });

    it('forgets the failure of a message that was replaced in flight when the lease has ended', async ({ bed }) => {
      await bed.settled('a', RETRY);
      await bed.advance(1);
      await bed.claimOne({ lease: 5 });
      await bed.publish('a', { due: { after: LONG }, onDuplicate: 'replace' });
      await bed.advance(5);
      await bed.claim();

      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', failure: undefined });
    });

    it('delivers at once what replaced a message in flight and is due when the lease has ended', async ({ bed }) => {
      await bed.deliver('a', { lease: 5 });
      await bed.publish('a', { envelope: '[2,"new"]', due: { at: 7 }, onDuplicate: 'replace' });
      await bed.advance(5);

      expect((await bed.claim()).messages).toMatchObject([{ envelope: '[2,"new"]', dueAt: 7, attempt: 1, token: 2 }]);
    });

    it('says when there is something to claim again', async ({ bed }) => {
      expect((await bed.claim()).nextAt).toBeUndefined();

      const { dueAt } = await bed.publish('later', { due: { after: LONG } });
      expect((await bed.claim()).nextAt).toBe(dueAt);

      await bed.publishAll([message('a', { due: { at: 1 } }), message('b', { due: { at: 2 } })]);
      const before = await bed.time();
      expect((await bed.claim({ max: 1, lease: LONG / 2 })).nextAt).toBe(2);
      const { nextAt } = await bed.claim({ max: 1, lease: LONG / 2 });
      expect(nextAt).toBe((await bed.get('a'))?.at);
      expect(nextAt).toBeGreaterThan(before + LONG / 2 - 1);
      expect(nextAt).toBeLessThanOrEqual((await bed.time()) + LONG / 2);
    });
  });
}
