import { describe, expect } from 'vitest';
import { sessionOfOwner } from '../../lib/store/fleet/owner.js';
import {
  type BrokerTest,
  ACK,
  DEAD,
  DEAD_UNCALLED,
  FAILURE,
  LONG,
  LONG_AGO,
  RETRY,
  message,
} from '../support/broker/broker-bed.js';

export function inspectContract(it: BrokerTest): void {
  describe('get', () => {
    it('knows nothing of a message that is not there', async ({ bed }) => {
      expect(await bed.get('a')).toBeUndefined();
    });

    it('shows a message in flight with the end of its lease', async ({ bed }) => {
      const before = await bed.time();
      const { envelope } = await bed.deliver('a', { lease: LONG });
      const after = await bed.time();

      const stored = await bed.get('a');

      expect(stored).toMatchObject({ storedId: 'a', state: 'in-flight', envelope, deliveries: 1, attempts: 1 });
      expect(stored?.at).toBeGreaterThan(before + LONG - 1);
      expect(stored?.at).toBeLessThanOrEqual(after + LONG);
    });

    it('tells when what is in flight was due, since it is not handled before', async ({ bed }) => {
      await bed.publish('a', { due: { at: LONG_AGO }, tags: ['eu'] });
      const { token } = await bed.claimOne();
      const all = { state: 'in-flight', limit: 1, maxBytes: 1 } as const;
      const [listed, tagged] = await Promise.all([
        bed.broker.messages.peek(bed.partition, all),
        bed.broker.messages.peek(bed.partition, { ...all, tag: 'eu' }),
      ]);

      expect(await bed.broker.messages.explain(bed.partition, 'a')).toMatchObject({ token, dueAt: LONG_AGO });
      for (const shown of [await bed.get('a'), listed.messages[0], tagged.messages[0]]) {
        expect(shown).toMatchObject({ state: 'in-flight', dueAt: LONG_AGO });
      }
    });

    it('counts deliveries and attempts apart', async ({ bed }) => {
      await bed.settled('a', RETRY);
      await bed.advance(1);
      await bed.settle(await bed.claimOne(), { kind: 'put-off', delay: 0 });
      await bed.advance(1);
      await bed.claimOne();

      expect(await bed.get('a')).toMatchObject({ deliveries: 3, attempts: 2, failure: FAILURE });
    });
  });

  describe('stats', () => {
    const NOTHING_COUNTED = {
      published: 0,
      delivered: 0,
      acked: 0,
      retried: 0,
      died: 0,
      cancelled: 0,
      expired: 0,
      stale: 0,
      repaired: 0,
    };

    it('counts nothing in a new partition', async ({ bed }) => {
      expect(await bed.broker.messages.stats({ ...bed.partition, index: 5 })).toEqual({
        scheduled: 0,
        due: 0,
        blocked: 0,
        blockedDue: 0,
        oldestBlockedDueAt: undefined,
        finished: 0,
        retrying: 0,
        heldUntil: undefined,
        inFlight: 0,
        dead: 0,
        nextDueAt: undefined,
        owner: undefined,
        paused: false,
        counters: NOTHING_COUNTED,
      });
    });

    it('counts messages by state', async ({ bed }) => {
      await bed.settled('dead', DEAD);
      await bed.deliver('in flight');
      await bed.publishAll([message('due'), message('due 2'), message('later', { due: { after: LONG } })]);

      expect(await bed.stats()).toMatchObject({
        scheduled: 3,
        due: 2,
        inFlight: 1,
        dead: 1,
        nextDueAt: LONG_AGO,
        owner: sessionOfOwner(bed.owner),
      });
    });

    it('takes a message for due when its time has come', async ({ bed }) => {
      const { dueAt } = await bed.publish('a', { due: { after: 10 } });
      await bed.publish('b', { due: { after: LONG } });
      await bed.advance(11);

      expect(await bed.stats()).toMatchObject({ scheduled: 2, due: 1, nextDueAt: dueAt });
    });

    it('counts what has happened since the partition was created', async ({ bed }) => {
      await bed.settled('acked', ACK);
      await bed.settled('died', DEAD);
      const retried = await bed.settled('retried', RETRY);
      await bed.settle(retried, ACK);
      await bed.advance(1);
      await bed.settle(await bed.claimOne(), { kind: 'put-off', delay: LONG });
      await bed.cancel('retried');
      await bed.publish('died');
      await bed.publish('died', { onDuplicate: 'ignore' });
      await bed.publish('died', { onDuplicate: 'replace' });

      expect((await bed.stats()).counters).toEqual({
        published: 4,
        delivered: 4,
        acked: 1,
        retried: 1,
        died: 1,
        cancelled: 1,
        expired: 0,
        stale: 1,
        repaired: 0,
      });
    });
  });

  describe('stats of what expired', () => {
    it('counts it beside all that died', async ({ bed }) => {
      await bed.settled('too late', DEAD_UNCALLED);
      await bed.settled('failed', DEAD);
      await bed.settled('invalid', { kind: 'dead', spent: false, failure: { ...FAILURE, reason: 'invalid' } });

      expect(await bed.stats()).toMatchObject({ dead: 3, counters: { died: 3, expired: 1 } });
      expect(await bed.get('too late')).toMatchObject({ deliveries: 1, attempts: 0 });
    });
  });

  describe('now', () => {
    it("follows the broker's clock", async ({ bed }) => {
      for (let i = 0; i < 5; i++) await bed.stats();
      const before = await bed.time();
      const now = bed.broker.now();
      const after = await bed.time();

      // As exact as half a round trip, which takes far less than this on a busy host, too.
      expect(now).toBeGreaterThan(before - 1000);
      expect(now).toBeLessThan(after + 1000);
    });

    it('moves on with it', async ({ bed }) => {
      await bed.stats();
      const before = bed.broker.now();
      await bed.advance(20);

      expect(bed.broker.now() - before).toBeGreaterThan(19);
    });
  });
}
