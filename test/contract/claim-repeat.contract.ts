import { isDeepStrictEqual } from 'node:util';
import { describe, expect } from 'vitest';
import { type ClaimedMessage, SUSPECT_ROOM } from '../../lib/store/deliveries/claim.js';
import { epochOf, ownerOf } from '../../lib/store/fleet/owner.js';
import { type BrokerTest, ACK, LONG, RETRY, message } from '../support/broker/broker-bed.js';

function byId(messages: readonly ClaimedMessage[]): ClaimedMessage[] {
  return messages.toSorted((a, b) => (a.storedId < b.storedId ? -1 : 1));
}

export function claimRepeatContract(it: BrokerTest): void {
  describe('claim repeated, since its reply was lost', () => {
    it('returns the same deliveries with the same tokens', async ({ bed }) => {
      await bed.deliver('known');
      await bed.publishAll([message('a'), message('b'), message('c')]);
      const lost = await bed.claim();

      const repeated = await bed.repeatClaim();

      expect(byId(repeated.messages)).toEqual(lost.messages);
      expect(repeated.messages).toHaveLength(3);
      expect(repeated.delivered).toBe(lost.delivered);
    });

    it('hands out nothing new, however much is due', async ({ bed }) => {
      await bed.publish('a');
      await bed.claim();
      await bed.publish('b');

      expect((await bed.repeatClaim()).messages).toMatchObject([{ storedId: 'a', token: bed.token(1), attempt: 1 }]);
      expect((await bed.claim()).messages).toMatchObject([{ storedId: 'b', token: bed.token(2) }]);
    });

    it('hands out nothing if the first call had nothing to hand out, and says what is due now', async ({ bed }) => {
      await bed.claim();
      await bed.publish('a', { due: { at: 7 } });

      expect(await bed.repeatClaim()).toMatchObject({ status: 'claimed', messages: [], delivered: 0, nextAt: 7 });
      expect((await bed.claim()).messages).toMatchObject([{ storedId: 'a', token: bed.token(1) }]);
    });

    it('says when they may begin by the rates of their keys, as the first call has granted it', async ({ bed }) => {
      bed.keyLimits = { rate: { max: 1, per: LONG } };
      await bed.publish('a');
      const lost = await bed.claim({ begin: { lead: 5000, slack: 20, ahead: 0 } });
      await bed.advance(5);
      const { grantedAt, begins } = await bed.repeatClaim();

      expect(grantedAt).toBe(lost.grantedAt);
      expect(begins?.lead).toBeLessThanOrEqual((lost.begins?.lead ?? NaN) - 5);
    });

    it('returns no delivery that is known already', async ({ bed }) => {
      await bed.deliver('known');
      await bed.publish('lost');
      await bed.claim();

      expect((await bed.repeatClaim()).messages.map(({ storedId }) => storedId)).toEqual(['lost']);
    });

    it('returns no delivery of an earlier owner', async ({ bed }) => {
      await bed.deliver('of the owner');
      const heir = ownerOf('heirs-epoch', 'heir');
      await bed.broker.fleet.acquire(bed.partition, heir, bed.owner);
      await bed.publish('of the heir');

      const request = bed.nextClaim({ owner: heir, sequence: 1, delivered: 0 });
      const lost = await bed.broker.deliveries.claim(bed.partition, request);

      expect(lost).toMatchObject({ messages: [{ storedId: 'of the heir', delivery: 1 }] });
      expect(await bed.broker.deliveries.claim(bed.partition, request)).toMatchObject(lost);
    });

    it('may be repeated again and again', async ({ bed }) => {
      await bed.publishAll([message('a'), message('b')]);
      const { messages } = await bed.claim();

      for (let i = 0; i < 3; i++) expect(byId((await bed.repeatClaim()).messages)).toEqual(messages);
      expect((await bed.stats()).counters.delivered).toBe(2);
    });

    it('counts no crash again, and spends no attempt by it', async ({ bed }) => {
      await bed.deliver('a', { lease: 1 });
      const seen: [attempt: number, weight: number, repeats: unknown][] = [];
      for (let crashes = 1; crashes <= 4; crashes++) {
        await bed.advance(1);
        const { messages } = await bed.claim({ lease: 1 });
        // The lease may have ended when the request is sent again.
        await bed.advance(1);
        const repeated = [await bed.repeatClaim({ lease: 1 }), await bed.repeatClaim({ lease: 1, room: 0 })];
        const [{ attempt, weight }] = messages as [ClaimedMessage];
        seen.push([attempt, weight, repeated.every((repeat) => isDeepStrictEqual(repeat.messages, messages))]);
      }
      expect(seen).toEqual([
        [1, 0, true],
        [1, 1, true],
        [1, SUSPECT_ROOM, true],
        [2, SUSPECT_ROOM, true],
      ]);
    });

    it('renews the leases from now on', async ({ bed }) => {
      await bed.deliver('a', { lease: 5 });
      await bed.advance(5);

      expect((await bed.repeatClaim({ lease: LONG })).messages).toMatchObject([{ token: bed.token(1), attempt: 1 }]);
      expect((await bed.claim()).messages).toEqual([]);
      expect((await bed.get('a'))?.at).toBeGreaterThan((await bed.time()) + LONG / 2);
    });

    it('returns deliveries that can be settled', async ({ bed }) => {
      await bed.deliver('a');
      const { messages } = await bed.repeatClaim();

      expect(await bed.settleAll(messages.map((claimed) => [claimed, ACK]))).toEqual(['settled']);
    });

    it('returns them all, however few it asks for', async ({ bed }) => {
      await bed.publishAll([message('a'), message('b')]);
      const { messages } = await bed.claim();

      for (const max of [1, 0]) expect(byId((await bed.repeatClaim({ max })).messages)).toEqual(messages);
    });

    it('hands out nothing if it asks for nothing and the first call has not arrived, and says what is due', async ({
      bed,
    }) => {
      await bed.deliver('ended', { lease: 1 });
      await bed.publish('a', { due: { at: 7 } });
      await bed.advance(1);

      expect(await bed.claim({ max: 0 })).toMatchObject({ status: 'claimed', messages: [], nextAt: 7 });
      expect((await bed.claim()).messages.map(({ storedId }) => storedId).toSorted()).toEqual(['a', 'ended']);
    });

    it('leaves what was replaced meanwhile to its delivery, whose receipt stays valid', async ({ bed }) => {
      const lost = await bed.deliver('a');
      const replaced = await bed.publish('a', { due: { after: LONG }, onDuplicate: 'replace' });
      expect(replaced.status).toBe('replaced');

      expect((await bed.repeatClaim()).messages).toEqual([]);
      expect(await bed.get('a')).toMatchObject({ state: 'in-flight' });
      expect(await bed.settle(lost, ACK)).toBe('settled');
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', at: replaced.dueAt, attempts: 0 });
    });

    it('leaves what was cancelled meanwhile to its delivery, so that it does not run twice at once', async ({
      bed,
    }) => {
      const lost = await bed.deliver('a');
      await bed.cancel('a');

      expect((await bed.repeatClaim()).messages).toEqual([]);
      expect(await bed.publish('a')).toMatchObject({ status: 'rejected' });
      expect(await bed.settle(lost, RETRY)).toBe('cancelled');
      expect(await bed.get('a')).toBeUndefined();
      expect((await bed.stats()).counters.cancelled).toBe(1);
    });

    it('uses no number again whose delivery has ended meanwhile', async ({ bed }) => {
      await bed.publishAll([message('a'), message('b')]);
      const { messages } = await bed.claim();
      await bed.settleAll(messages.map((claimed) => [claimed, ACK]));

      expect(await bed.repeatClaim()).toMatchObject({ messages: [], delivered: 2 });
      expect(await bed.deliver('c')).toMatchObject({ token: bed.token(3) });
    });
  });

  describe('a claim', () => {
    it('that comes after a later one changes nothing', async ({ bed }) => {
      const early = bed.nextClaim({ lease: LONG });
      const flying = await bed.deliver('flying', { lease: LONG / 2 });
      await bed.claim();
      await bed.publish('due');
      const before = [await bed.get('flying'), await bed.get('due')];

      expect(await bed.broker.deliveries.claim(bed.partition, early)).toEqual({
        status: 'not-owner',
        owner: bed.owner,
      });

      expect([await bed.get('flying'), await bed.get('due')]).toEqual(before);
      expect(await bed.claim()).toMatchObject({ messages: [{ storedId: 'due', token: bed.token(2) }], delivered: 2 });
      expect(await bed.settle(flying, ACK)).toBe('settled');
    });

    it('that comes after a later one of nothing, or while paused, changes nothing either', async ({ bed }) => {
      const early = bed.nextClaim();
      await bed.claim();
      await bed.broker.deliveries.pause(bed.partition, bed.nextCall());
      const paused = bed.nextClaim();
      expect(await bed.claim()).toMatchObject({ status: 'paused' });
      await bed.claim();
      await bed.broker.deliveries.resume(bed.partition, bed.nextCall());
      await bed.publish('due');

      for (const late of [early, paused]) {
        expect(await bed.broker.deliveries.claim(bed.partition, late)).toMatchObject({ status: 'not-owner' });
      }
      expect(await bed.get('due')).toMatchObject({ state: 'scheduled', deliveries: 0 });
    });

    it('of an earlier owner that comes after a takeover changes nothing', async ({ bed }) => {
      await bed.deliver('flying');
      const late = bed.nextClaim();
      const heir = ownerOf('heirs-epoch', 'heir');
      await bed.broker.fleet.acquire(bed.partition, heir, bed.owner);
      await bed.publish('due');

      expect(await bed.broker.deliveries.claim(bed.partition, late)).toEqual({ status: 'not-owner', owner: heir });
      expect((await bed.repeatClaim().catch((error: Error) => error.message)) as string).toContain('does not own');
      expect(await bed.get('due')).toMatchObject({ state: 'scheduled', deliveries: 0 });
    });

    it('of a new epoch is no repeat of one of an earlier epoch', async ({ bed }) => {
      await bed.deliver('a');
      await bed.claim();
      const heir = ownerOf('heirs-epoch', 'owner');
      await bed.broker.fleet.acquire(bed.partition, heir, bed.owner);
      await bed.publish('b');

      for (const sequence of [1, 2]) {
        const request = bed.nextClaim({ owner: heir, sequence, delivered: 0 });
        expect(await bed.broker.deliveries.claim(bed.partition, request)).toMatchObject({
          status: 'claimed',
          delivered: 1,
        });
      }
      expect(await bed.get('b')).toMatchObject({ state: 'in-flight', deliveries: 1 });
    });

    it('of an owner that does not know its latest deliveries uses none of their numbers again', async ({ bed }) => {
      const unknown = await bed.deliver('a', { lease: 5 });
      await bed.advance(5);

      const forgetful = bed.nextClaim({ delivered: 0 });
      const again = { storedId: 'a', token: bed.token(2) };
      expect(await bed.broker.deliveries.claim(bed.partition, forgetful)).toMatchObject({
        messages: [again],
        delivered: 2,
      });
      expect(await bed.settle(unknown, ACK)).toBe('stale');
      expect(await bed.settle(again, ACK)).toBe('settled');
    });

    it('tells an epoch from one that begins alike', async ({ bed }) => {
      await bed.deliver('a');
      const heir = ownerOf(`${epochOf(bed.owner)}0`, 'heir');
      await bed.broker.fleet.acquire(bed.partition, heir, bed.owner);
      const request = bed.nextClaim({ owner: heir, sequence: 1, delivered: 0 });
      await bed.publish('b');
      await bed.broker.deliveries.claim(bed.partition, request);

      const repeated = await bed.broker.deliveries.claim(bed.partition, request);
      expect(repeated).toMatchObject({ messages: [{ storedId: 'b' }], delivered: 1 });
    });
  });
}
