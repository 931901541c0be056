import { describe, expect } from 'vitest';
import type { Receipt } from '../../lib/store/deliveries/receipt.js';
import {
  type BrokerBed,
  type BrokerTest,
  ACK,
  DEAD,
  LONG,
  LONG_AGO,
  PUT_OFF,
  RETRY,
  RETRY_LATER,
  message,
} from '../support/broker/broker-bed.js';

const FIRST = '[1,"first"]';
const SECOND = '[2,"second"]';

/** Ways to have a message 'a' with the envelope FIRST in each state; every one was due LONG_AGO. */
const STATES: Readonly<Record<string, (bed: BrokerBed) => Promise<Receipt | undefined>>> = {
  scheduled: async (bed) => {
    await bed.publish('a', { envelope: FIRST });
    return undefined;
  },
  'in-flight': async (bed) => {
    await bed.publish('a', { envelope: FIRST });
    return bed.claimOne();
  },
  dead: async (bed) => {
    await bed.publish('a', { envelope: FIRST });
    await bed.settle(await bed.claimOne(), DEAD);
    return undefined;
  },
};

export function publishDuplicateContract(it: BrokerTest): void {
  describe('publish of ids that cannot exist', () => {
    it('stores them, each for its own time', async ({ bed }) => {
      const at = Math.ceil(await bed.time()) + LONG;
      const dues = [{ at }, { after: LONG }, { at: LONG_AGO }];

      const results = await bed.publishAll(
        dues.map((due, i) => message(`new ${i}`, { due, onDuplicate: 'impossible' })),
      );

      expect(results.map(({ status }) => status)).toEqual(['created', 'created', 'created']);
      for (const [i, { dueAt }] of results.entries()) {
        expect(await bed.get(`new ${i}`)).toMatchObject({ state: 'scheduled', at: dueAt });
      }
      expect([results[0]?.dueAt, results[2]?.dueAt]).toEqual([at, LONG_AGO]);
    });

    it('beside others that do exist: each gets what was asked for it', async ({ bed }) => {
      for (const id of ['kept', 'ignored', 'replaced']) await bed.publish(id, { envelope: FIRST });
      const at = Math.ceil(await bed.time()) + LONG;
      const fields = { envelope: SECOND, due: { at } };

      const results = await bed.publishAll([
        message('new', { ...fields, onDuplicate: 'impossible' }),
        message('kept', { ...fields, onDuplicate: 'reject' }),
        message('ignored', { ...fields, onDuplicate: 'ignore' }),
        message('replaced', { ...fields, due: { at: at + 1 }, onDuplicate: 'replace' }),
        message('other', { ...fields, onDuplicate: 'reject' }),
      ]);

      expect(results).toEqual([
        { status: 'created', dueAt: at },
        { status: 'rejected', dueAt: LONG_AGO },
        { status: 'ignored', dueAt: LONG_AGO },
        { status: 'replaced', dueAt: at + 1 },
        { status: 'created', dueAt: at },
      ]);
      for (const id of ['kept', 'ignored']) expect(await bed.get(id)).toMatchObject({ envelope: FIRST, at: LONG_AGO });
      expect(await bed.get('replaced')).toMatchObject({ envelope: SECOND, at: at + 1 });
      for (const id of ['new', 'other']) expect(await bed.get(id)).toMatchObject({ envelope: SECOND, at });
      expect(await bed.stats()).toMatchObject({ scheduled: 5 });
    });
  });

  describe('publish of an id that exists', () => {
    for (const [state, prepare] of Object.entries(STATES)) {
      for (const [policy, status] of [
        ['reject', 'rejected'],
        ['ignore', 'ignored'],
        ['earliest', 'ignored'],
      ] as const) {
        it(`${state}, '${policy}': changes nothing and answers the due time that counts`, async ({ bed }) => {
          await prepare(bed);
          const before = await bed.get('a');

          const result = await bed.publish('a', { envelope: SECOND, due: { after: LONG }, onDuplicate: policy });

          expect(result).toEqual({ status, dueAt: LONG_AGO });
          expect(await bed.get('a')).toEqual(before);
          expect(before).toMatchObject({ state, envelope: FIRST });
        });
      }
    }

    for (const state of ['in-flight', 'dead']) {
      it(`${state}, 'earliest' with an earlier time: nothing moves`, async ({ bed }) => {
        const running = await STATES[state]?.(bed);
        const before = [await bed.get('a'), await bed.stats()];

        const result = await bed.publish('a', { envelope: SECOND, due: { at: 5 }, onDuplicate: 'earliest' });

        expect(result).toEqual({ status: 'ignored', dueAt: LONG_AGO });
        expect([await bed.get('a'), await bed.stats()]).toEqual(before);
        const settled = running === undefined ? [] : [await bed.settle(running, ACK)];
        expect(settled).toEqual(state === 'in-flight' ? ['settled'] : []);
        expect((await bed.claim()).messages).toEqual([]);
      });
    }

    it("scheduled, 'earliest' with an earlier time: stays as it is, due then", async ({ bed }) => {
      await bed.publish('a', { envelope: FIRST, due: { after: LONG } });

      const result = await bed.publish('a', { envelope: SECOND, due: { at: 5 }, onDuplicate: 'earliest' });

      expect(result).toEqual({ status: 'ignored', dueAt: 5 });
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', envelope: FIRST, at: 5 });
      expect(await bed.stats()).toMatchObject({ scheduled: 1, counters: { published: 1 } });
      expect((await bed.claim()).messages).toMatchObject([{ envelope: FIRST, attempt: 1, dueAt: 5 }]);
    });

    it("'earliest' again and again: due at the earliest of all times", async ({ bed }) => {
      const dues: number[] = [];
      for (const at of [700, 500, 900, 500, 600, 400]) {
        dues.push((await bed.publish('a', { due: { at }, onDuplicate: 'earliest' })).dueAt);
      }

      expect(dues).toEqual([700, 500, 500, 500, 500, 400]);
      expect(await bed.claimOne()).toMatchObject({ dueAt: 400 });
    });

    for (const outcome of [RETRY_LATER, PUT_OFF]) {
      it(`'earliest' of one that waits after ${outcome.kind}: its attempts and failure stay`, async ({ bed }) => {
        await bed.settled('a', outcome);
        const before = await bed.get('a');

        const result = await bed.publish('a', { envelope: SECOND, due: { at: 5 }, onDuplicate: 'earliest' });

        expect(result).toEqual({ status: 'ignored', dueAt: 5 });
        expect(await bed.get('a')).toEqual({ ...before, at: 5 });
        expect(await bed.claimOne()).toMatchObject({ dueAt: 5, delivery: 2 });
      });
    }

    it("in flight and replaced, 'earliest': answers when the replacement is due, and does not move it", async ({
      bed,
    }) => {
      const running = await bed.deliver('a');
      await bed.publish('a', { envelope: SECOND, due: { at: 7 }, onDuplicate: 'replace' });

      const result = await bed.publish('a', { due: { at: 5 }, onDuplicate: 'earliest' });

      expect(result).toEqual({ status: 'ignored', dueAt: 7 });
      await bed.settle(running, ACK);
      expect(await bed.claimOne()).toMatchObject({ envelope: SECOND, dueAt: 7 });
    });

    it("scheduled, 'replace': gives it the new envelope and due time", async ({ bed }) => {
      await bed.publish('a', { envelope: FIRST });
      const at = Math.ceil(await bed.time()) + LONG;

      const result = await bed.publish('a', { envelope: SECOND, due: { at }, onDuplicate: 'replace' });

      expect(result).toEqual({ status: 'replaced', dueAt: at });
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', envelope: SECOND, at });
      expect(await bed.claim()).toMatchObject({ messages: [], nextAt: at });
      expect(await bed.stats()).toMatchObject({ scheduled: 1 });
    });

    it("waiting for its retry, 'replace': begins anew, with the whole budget and no failure", async ({ bed }) => {
      await bed.settled('a', RETRY);
      expect(await bed.get('a')).toMatchObject({ attempts: 1, failure: { message: 'boom' } });

      await bed.publish('a', { envelope: SECOND, onDuplicate: 'replace' });

      expect(await bed.get('a')).toMatchObject({ deliveries: 0, attempts: 0, failure: undefined });
      expect(await bed.claimOne()).toMatchObject({ envelope: SECOND, attempt: 1, dueAt: LONG_AGO });
    });

    it("dead, 'replace': schedules it anew, with the whole budget and no failure", async ({ bed }) => {
      await bed.settled('a', DEAD);

      const result = await bed.publish('a', { envelope: SECOND, onDuplicate: 'replace' });

      expect(result).toEqual({ status: 'replaced', dueAt: LONG_AGO });
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', attempts: 0, failure: undefined });
      expect(await bed.stats()).toMatchObject({ scheduled: 1, dead: 0 });
      expect(await bed.claimOne()).toMatchObject({ envelope: SECOND, attempt: 1 });
    });

    it("in flight, 'replace': the new message waits until the running delivery has ended", async ({ bed }) => {
      const running = await bed.deliver('a');
      const { at: leaseEnd } = (await bed.get('a')) ?? {};

      const result = await bed.publish('a', { envelope: SECOND, due: { at: 5 }, onDuplicate: 'replace' });

      expect(result).toEqual({ status: 'replaced', dueAt: 5 });
      expect(await bed.get('a')).toMatchObject({ state: 'in-flight', envelope: SECOND, at: leaseEnd });
      expect((await bed.claim()).messages).toEqual([]);
      expect(await bed.settle(running, ACK)).toBe('settled');
      expect(await bed.claimOne()).toMatchObject({ envelope: SECOND, dueAt: 5, attempt: 1 });
    });

    it("in flight, 'replace' twice: the latest one counts", async ({ bed }) => {
      const running = await bed.deliver('a');
      await bed.publish('a', { envelope: '[2,1]', due: { at: 5 }, onDuplicate: 'replace' });
      await bed.publish('a', { envelope: '[3,1]', due: { at: 7 }, onDuplicate: 'replace' });

      await bed.settle(running, ACK);

      expect((await bed.claim()).messages).toMatchObject([{ envelope: '[3,1]', dueAt: 7 }]);
    });

    it("in flight and replaced, 'reject': answers when the replacement is due", async ({ bed }) => {
      await bed.deliver('a');
      await bed.publish('a', { due: { at: 5 }, onDuplicate: 'replace' });

      expect(await bed.publish('a')).toEqual({ status: 'rejected', dueAt: 5 });
    });

    it("in flight and cancelled, 'replace': the new message is delivered", async ({ bed }) => {
      const running = await bed.deliver('a');
      await bed.cancel('a');
      await bed.publish('a', { envelope: SECOND, onDuplicate: 'replace' });

      expect(await bed.settle(running, RETRY)).toBe('replaced');
      expect(await bed.claimOne()).toMatchObject({ envelope: SECOND, attempt: 1 });
    });

    it('judges the second of two with one id in a call by the first', async ({ bed }) => {
      for (const [policy, status, winner] of [
        ['reject', 'rejected', FIRST],
        ['ignore', 'ignored', FIRST],
        ['earliest', 'ignored', FIRST],
        ['replace', 'replaced', SECOND],
      ] as const) {
        const results = await bed.publishAll([
          message(policy, { envelope: FIRST, due: { at: 1 } }),
          message(policy, { envelope: SECOND, due: { at: 2 }, onDuplicate: policy }),
        ]);

        const dueAt = status === 'replaced' ? 2 : 1;
        expect(results).toMatchObject([
          { status: 'created', dueAt: 1 },
          { status, dueAt },
        ]);
        expect(await bed.get(policy)).toMatchObject({ state: 'scheduled', envelope: winner, at: dueAt });
      }
      expect(await bed.stats()).toMatchObject({ scheduled: 4, counters: { published: 5 } });
    });

    it("'earliest' twice in a call: the first one stays, due at the earlier time", async ({ bed }) => {
      const results = await bed.publishAll([
        message('a', { envelope: FIRST, due: { at: 7 }, onDuplicate: 'earliest' }),
        message('a', { envelope: SECOND, due: { at: 5 }, onDuplicate: 'earliest' }),
        message('a', { envelope: SECOND, due: { at: 6 }, onDuplicate: 'earliest' }),
      ]);

      expect(results).toMatchObject([
        { status: 'created', dueAt: 7 },
        { status: 'ignored', dueAt: 5 },
        { status: 'ignored', dueAt: 5 },
      ]);
      expect(await bed.get('a')).toMatchObject({ envelope: FIRST, at: 5 });
    });

    it('stores the other messages of a call with a duplicate', async ({ bed }) => {
      await bed.publish('b');

      const results = await bed.publishAll([message('a'), message('b'), message('c')]);

      expect(results.map(({ status }) => status)).toEqual(['created', 'rejected', 'created']);
      expect((await bed.claim()).messages.map(({ storedId }) => storedId)).toEqual(['a', 'b', 'c']);
    });
  });
}
