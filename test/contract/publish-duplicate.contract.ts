import { describe, expect } from 'vitest';
import type { Receipt } from '../../lib/broker/broker.interface.js';
import {
  type Bench,
  type BrokerTest,
  ACK,
  DEAD,
  LONG,
  LONG_AGO,
  RETRY,
  message,
} from '../support/broker/broker-bed.js';

const FIRST = '[1,"first"]';
const SECOND = '[2,"second"]';

/** Ways to have a message 'a' with the envelope FIRST in each state; every one was due LONG_AGO. */
const STATES: Readonly<Record<string, (bench: Bench) => Promise<Receipt | undefined>>> = {
  scheduled: async (bench) => {
    await bench.publish('a', { envelope: FIRST });
    return undefined;
  },
  'in-flight': async (bench) => {
    await bench.publish('a', { envelope: FIRST });
    return bench.claimOne();
  },
  dead: async (bench) => {
    await bench.publish('a', { envelope: FIRST });
    await bench.settle(await bench.claimOne(), DEAD);
    return undefined;
  },
};

export function publishDuplicateContract(it: BrokerTest): void {
  describe('publish of ids that cannot exist', () => {
    it('stores them, each for its own time', async ({ bench }) => {
      const at = Math.ceil(await bench.time()) + LONG;
      const dues = [{ at }, { after: LONG }, { at: LONG_AGO }];

      const results = await bench.publishAll(
        dues.map((due, i) => message(`new ${i}`, { due, onDuplicate: 'impossible' })),
      );

      expect(results.map(({ status }) => status)).toEqual(['created', 'created', 'created']);
      for (const [i, { dueAt }] of results.entries()) {
        expect(await bench.get(`new ${i}`)).toMatchObject({ state: 'scheduled', at: dueAt });
      }
      expect([results[0]?.dueAt, results[2]?.dueAt]).toEqual([at, LONG_AGO]);
    });

    it('beside others that do exist: each gets what was asked for it', async ({ bench }) => {
      for (const id of ['kept', 'ignored', 'replaced']) await bench.publish(id, { envelope: FIRST });
      const at = Math.ceil(await bench.time()) + LONG;
      const fields = { envelope: SECOND, due: { at } };

      const results = await bench.publishAll([
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
      for (const id of ['kept', 'ignored'])
        expect(await bench.get(id)).toMatchObject({ envelope: FIRST, at: LONG_AGO });
      expect(await bench.get('replaced')).toMatchObject({ envelope: SECOND, at: at + 1 });
      for (const id of ['new', 'other']) expect(await bench.get(id)).toMatchObject({ envelope: SECOND, at });
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 5 });
    });
  });

  describe('publish of an id that exists', () => {
    for (const [state, prepare] of Object.entries(STATES)) {
      for (const [policy, status] of [
        ['reject', 'rejected'],
        ['ignore', 'ignored'],
      ] as const) {
        it(`${state}, '${policy}': changes nothing and answers the due time that counts`, async ({ bench }) => {
          await prepare(bench);
          const before = await bench.get('a');

          const result = await bench.publish('a', { envelope: SECOND, due: { after: LONG }, onDuplicate: policy });

          expect(result).toEqual({ status, dueAt: LONG_AGO });
          expect(await bench.get('a')).toEqual(before);
          expect(before).toMatchObject({ state, envelope: FIRST });
        });
      }
    }

    it("scheduled, 'replace': gives it the new envelope and due time", async ({ bench }) => {
      await bench.publish('a', { envelope: FIRST });
      const at = Math.ceil(await bench.time()) + LONG;

      const result = await bench.publish('a', { envelope: SECOND, due: { at }, onDuplicate: 'replace' });

      expect(result).toEqual({ status: 'replaced', dueAt: at });
      expect(await bench.get('a')).toMatchObject({ state: 'scheduled', envelope: SECOND, at });
      expect(await bench.claim()).toMatchObject({ messages: [], nextAt: at });
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 1 });
    });

    it("waiting for its retry, 'replace': begins anew, with the whole budget and no failure", async ({ bench }) => {
      await bench.settled('a', RETRY);
      expect(await bench.get('a')).toMatchObject({ attempts: 1, failure: { message: 'boom' } });

      await bench.publish('a', { envelope: SECOND, onDuplicate: 'replace' });

      expect(await bench.get('a')).toMatchObject({ deliveries: 0, attempts: 0, failure: undefined });
      expect(await bench.claimOne()).toMatchObject({ envelope: SECOND, attempt: 1, dueAt: LONG_AGO });
    });

    it("dead, 'replace': schedules it anew, with the whole budget and no failure", async ({ bench }) => {
      await bench.settled('a', DEAD);

      const result = await bench.publish('a', { envelope: SECOND, onDuplicate: 'replace' });

      expect(result).toEqual({ status: 'replaced', dueAt: LONG_AGO });
      expect(await bench.get('a')).toMatchObject({ state: 'scheduled', attempts: 0, failure: undefined });
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 1, dead: 0 });
      expect(await bench.claimOne()).toMatchObject({ envelope: SECOND, attempt: 1 });
    });

    it("in flight, 'replace': the new message waits until the running delivery has ended", async ({ bench }) => {
      const running = await bench.deliver('a');
      const { at: leaseEnd } = (await bench.get('a')) ?? {};

      const result = await bench.publish('a', { envelope: SECOND, due: { at: 5 }, onDuplicate: 'replace' });

      expect(result).toEqual({ status: 'replaced', dueAt: 5 });
      expect(await bench.get('a')).toMatchObject({ state: 'in-flight', envelope: SECOND, at: leaseEnd });
      expect((await bench.claim()).messages).toEqual([]);
      expect(await bench.settle(running, ACK)).toBe('settled');
      expect(await bench.claimOne()).toMatchObject({ envelope: SECOND, dueAt: 5, attempt: 1 });
    });

    it("in flight, 'replace' twice: the latest one counts", async ({ bench }) => {
      const running = await bench.deliver('a');
      await bench.publish('a', { envelope: '[2,1]', due: { at: 5 }, onDuplicate: 'replace' });
      await bench.publish('a', { envelope: '[3,1]', due: { at: 7 }, onDuplicate: 'replace' });

      await bench.settle(running, ACK);

      expect((await bench.claim()).messages).toMatchObject([{ envelope: '[3,1]', dueAt: 7 }]);
    });

    it("in flight and replaced, 'reject': answers when the replacement is due", async ({ bench }) => {
      await bench.deliver('a');
      await bench.publish('a', { due: { at: 5 }, onDuplicate: 'replace' });

      expect(await bench.publish('a')).toEqual({ status: 'rejected', dueAt: 5 });
    });

    it("in flight and cancelled, 'replace': the new message is delivered", async ({ bench }) => {
      const running = await bench.deliver('a');
      await bench.cancel('a');
      await bench.publish('a', { envelope: SECOND, onDuplicate: 'replace' });

      expect(await bench.settle(running, RETRY)).toBe('replaced');
      expect(await bench.claimOne()).toMatchObject({ envelope: SECOND, attempt: 1 });
    });

    it('judges the second of two with one id in a call by the first', async ({ bench }) => {
      for (const [policy, status, winner] of [
        ['reject', 'rejected', FIRST],
        ['ignore', 'ignored', FIRST],
        ['replace', 'replaced', SECOND],
      ] as const) {
        const results = await bench.publishAll([
          message(policy, { envelope: FIRST, due: { at: 1 } }),
          message(policy, { envelope: SECOND, due: { at: 2 }, onDuplicate: policy }),
        ]);

        const dueAt = status === 'replaced' ? 2 : 1;
        expect(results).toEqual([
          { status: 'created', dueAt: 1 },
          { status, dueAt },
        ]);
        expect(await bench.get(policy)).toMatchObject({ state: 'scheduled', envelope: winner, at: dueAt });
      }
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 3, counters: { published: 4 } });
    });

    it('stores the other messages of a call with a duplicate', async ({ bench }) => {
      await bench.publish('b');

      const results = await bench.publishAll([message('a'), message('b'), message('c')]);

      expect(results.map(({ status }) => status)).toEqual(['created', 'rejected', 'created']);
      expect((await bench.claim()).messages.map(({ storedId }) => storedId)).toEqual(['a', 'b', 'c']);
    });
  });
}
