import { describe, expect } from 'vitest';
import { type ClaimedMessage, SUSPECT_ROOM } from '../../lib/store/deliveries/claim.js';
import { tokenOf } from '../../lib/store/deliveries/receipt.js';
import { epochOf, ownerOf } from '../../lib/store/fleet/owner.js';
import { MAX_BATCH } from '../../lib/store/partition.js';
import { NoShutdownHooksError } from '../../lib/errors/operation.errors.js';
import { type BrokerTest, ACK, LONG, LONG_AGO, RETRY, message } from '../support/broker/broker-bed.js';

export function claimContract(it: BrokerTest): void {
  describe('claim', () => {
    it('hands a due message out with all that its handler needs', async ({ bed }) => {
      await bed.publish('a', { envelope: '[7,"payload"]' });

      const result = await bed.claim();

      expect(result).toMatchObject({ status: 'claimed', repaired: 0 });
      expect(result.messages).toEqual([
        {
          storedId: 'a',
          envelope: '[7,"payload"]',
          token: bed.token(1),
          delivery: 1,
          attempt: 1,
          dueAt: LONG_AGO,
          weight: 0,
        },
      ]);
      expect(result.delivered).toBe(1);
    });

    it('refuses whoever is not exactly the owner, says who is, and changes nothing', async ({ bed }) => {
      const nobodys = { ...bed.partition, index: 1 };
      await bed.publish('a');
      await bed.broker.messages.publish(nobodys, bed.nextCall(), [message('a')]);

      const others = [
        ownerOf('another-epoch', 'owner'),
        ownerOf(epochOf(bed.owner), 'somebody else'),
        epochOf(bed.owner),
      ];
      for (const owner of others) {
        const refused = { status: 'not-owner', owner: bed.owner };
        expect(await bed.broker.deliveries.claim(bed.partition, bed.nextClaim({ owner }))).toEqual(refused);
      }
      expect(await bed.broker.deliveries.claim(nobodys, bed.nextClaim())).toEqual({
        status: 'not-owner',
        owner: undefined,
      });

      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', deliveries: 0 });
    });

    it('refuses an owner that has released the partition, whatever it calls itself', async ({ bed }) => {
      await bed.publish('a');
      await bed.broker.fleet.release(bed.partition, bed.owner);

      const refused = { status: 'not-owner', owner: epochOf(bed.owner) };
      for (const owner of [bed.owner, epochOf(bed.owner), ownerOf(epochOf(bed.owner), '')]) {
        expect(await bed.broker.deliveries.claim(bed.partition, bed.nextClaim({ owner }))).toEqual(refused);
      }
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
      expect(messages.map(({ token }) => token)).toEqual(ids.slice(0, MAX_BATCH).map((_, i) => bed.token(i + 1)));
    });

    it('numbers the deliveries of an owner, so that each has a token of its own', async ({ bed }) => {
      await bed.publishAll([message('a'), message('b')]);
      const first = await bed.claim();
      for (const claimed of first.messages) await bed.settle(claimed, RETRY);
      await bed.advance(1);
      const second = await bed.claim();

      expect(first.messages.map(({ token }) => token)).toEqual([bed.token(1), bed.token(2)]);
      expect(first.delivered).toBe(2);
      expect(second.messages.map(({ token }) => token)).toEqual([bed.token(3), bed.token(4)]);
      expect(second.delivered).toBe(4);
      expect((await bed.claim()).delivered).toBe(4);
    });

    it('does not hand out a second time what is in flight', async ({ bed }) => {
      await bed.deliver('a', { lease: LONG });

      expect((await bed.claim()).messages).toEqual([]);
    });

    it('redelivers when a lease has ended, with the next token, and no attempt spent', async ({ bed }) => {
      const first = await bed.deliver('a', { lease: 5 });
      await bed.advance(5);

      const second = await bed.claimOne();

      expect(second).toEqual({ ...first, token: bed.token(2), delivery: 2 });
    });

    it('counts a crash and no attempt when a lease has ended, as is told where a SIGTERM would end the process', async ({
      bed,
    }) => {
      const { attempt } = await bed.deliver('a', { lease: 5 });
      await bed.advance(5);
      expect(await bed.claimOne()).toMatchObject({ attempt });
      expect(await bed.broker.messages.explain(bed.partition, 'a')).toMatchObject({ attempts: attempt, crashes: 1 });

      const { message: told } = new NoShutdownHooksError(5, 10_000);
      expect(told).toContain('their messages come again up to 0.005 s later, counted as crashed,');
      expect(told).not.toContain('attempt');
    });

    it('spends an attempt by an ended lease only once the message runs as the only suspect', async ({ bed }) => {
      await bed.deliver('a', { lease: 1 });
      const seen: [attempt: number, weight: number][] = [];
      for (let crashes = 1; crashes <= 5; crashes++) {
        await bed.advance(1);
        const { attempt, weight } = await bed.claimOne({ lease: 1 });
        seen.push([attempt, weight]);
      }
      expect(seen).toEqual([
        [1, 0],
        [1, 1],
        [1, SUSPECT_ROOM],
        [2, SUSPECT_ROOM],
        [3, SUSPECT_ROOM],
      ]);
    });

    it('holds suspects back for which there is no room, and hands out the others', async ({ bed }) => {
      await bed.publishAll(['a', 'b', 'c'].map((id) => message(id)));
      await bed.claim({ lease: 1 });
      await bed.advance(1);
      await bed.claim({ lease: 1 });
      await bed.advance(1);
      await bed.publish('fresh');

      const first = await bed.claim({ lease: LONG, room: 1 });
      expect(first.messages.map(({ storedId, weight }) => [storedId, weight])).toEqual([
        ['a', 1],
        ['fresh', 0],
      ]);
      expect(first).toMatchObject({ heldBack: true, nextAt: (await bed.get('a'))?.at });
      expect(await bed.claim({ room: 0 })).toMatchObject({ messages: [], heldBack: true });
      const rest = await bed.claim({ lease: LONG, room: 2 });
      expect(rest).toMatchObject({ messages: [{ storedId: 'b' }, { storedId: 'c' }], heldBack: false });
    });

    it('hands a message of three crashes out only if it has all the room', async ({ bed }) => {
      await bed.publishAll(['a', 'b'].map((id) => message(id)));
      for (let claims = 0; claims < 3; claims++) {
        await bed.claim({ lease: 1 });
        await bed.advance(1);
      }

      expect(await bed.claim({ room: SUSPECT_ROOM - 1 })).toMatchObject({ messages: [], heldBack: true });
      const alone = await bed.claim({ lease: LONG });
      expect(alone).toMatchObject({ messages: [{ storedId: 'a', attempt: 1, weight: SUSPECT_ROOM }], heldBack: true });
    });

    it('is no suspect any more once it was settled', async ({ bed }) => {
      await bed.deliver('a', { lease: 1 });
      for (let crashes = 1; crashes <= 2; crashes++) {
        await bed.advance(1);
        await bed.claim({ lease: 1 });
      }
      await bed.advance(1);
      await bed.settle(await bed.claimOne(), RETRY);
      await bed.advance(1);
      expect(await bed.claimOne({ room: 0 })).toMatchObject({ attempt: 2, weight: 0 });
    });

    it('counts a crash after a takeover only for a lease that ended unsettled', async ({ bed }) => {
      await bed.publishAll(['ended', 'held', 'settled'].map((id) => message(id)));
      for (let claims = 0; claims < 2; claims++) {
        await bed.claim({ lease: 1 });
        await bed.advance(1);
      }
      const [ended, held, settled] = (await bed.claim({ lease: LONG })).messages as [
        ClaimedMessage,
        ClaimedMessage,
        ClaimedMessage,
      ];
      await bed.broker.deliveries.extend(bed.partition, 1, [ended]);
      await bed.settle(settled, RETRY);
      await bed.advance(1);
      const heir = ownerOf('heirs-epoch', 'heir');
      await bed.broker.fleet.acquire(bed.partition, heir, bed.owner);

      const request = bed.nextClaim({ owner: heir, sequence: 1, delivered: 0 });
      const first = await bed.broker.deliveries.claim(bed.partition, request);

      expect(first).toMatchObject({
        messages: [
          { storedId: 'ended', attempt: 1, weight: SUSPECT_ROOM },
          { storedId: 'settled', attempt: 2, weight: 0 },
        ],
        heldBack: false,
      });
      expect(await bed.settle(held, ACK)).toBe('settled');
    });

    it('redelivers before it delivers, in order of the ends of the leases', async ({ bed }) => {
      const z = await bed.deliver('z');
      const y = await bed.deliver('y');
      await bed.broker.deliveries.extend(bed.partition, 5, [z]);
      await bed.broker.deliveries.extend(bed.partition, 10, [y]);
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
      const heir = ownerOf('heirs-epoch', 'heir');
      await bed.broker.fleet.acquire(bed.partition, heir, bed.owner);

      await bed.advance(10);
      const request = bed.nextClaim({ owner: heir, sequence: 1, delivered: 0 });
      expect(await bed.broker.deliveries.claim(bed.partition, request)).toMatchObject({
        messages: [{ storedId: 'short', token: tokenOf('heirs-epoch', 1), delivery: 2, attempt: 1 }],
        delivered: 1,
      });
      expect(await bed.settle(long, ACK)).toBe('settled');
    });

    it('drops a message that was cancelled while in flight when its lease has ended', async ({ bed }) => {
      await bed.deliver('a', { lease: 5 });
      await bed.cancel('a');
      await bed.advance(5);

      expect((await bed.claim()).messages).toEqual([]);
      expect(await bed.get('a')).toBeUndefined();
      const { inFlight, counters } = await bed.stats();
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

      expect((await bed.claim()).messages).toMatchObject([
        { envelope: '[2,"new"]', dueAt: 7, attempt: 1, token: bed.token(2) },
      ]);
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
