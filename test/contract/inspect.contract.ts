import { describe, expect } from 'vitest';
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
    it('knows nothing of a message that is not there', async ({ bench }) => {
      expect(await bench.get('a')).toBeUndefined();
    });

    it('shows a message in flight with the end of its lease', async ({ bench }) => {
      const before = await bench.time();
      const { envelope } = await bench.deliver('a', { lease: LONG });
      const after = await bench.time();

      const stored = await bench.get('a');

      expect(stored).toMatchObject({ storedId: 'a', state: 'in-flight', envelope, deliveries: 1, attempts: 1 });
      expect(stored?.at).toBeGreaterThan(before + LONG - 1);
      expect(stored?.at).toBeLessThanOrEqual(after + LONG);
    });

    it('counts deliveries and attempts apart', async ({ bench }) => {
      await bench.settled('a', RETRY);
      await bench.advance(1);
      await bench.settle(await bench.claimOne(), { kind: 'put-off', delay: 0 });
      await bench.advance(1);
      await bench.claimOne();

      expect(await bench.get('a')).toMatchObject({ deliveries: 3, attempts: 2, failure: FAILURE });
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

    it('counts nothing in a new partition', async ({ bench }) => {
      expect(await bench.broker.stats({ ...bench.partition, index: 5 })).toEqual({
        scheduled: 0,
        due: 0,
        inFlight: 0,
        dead: 0,
        nextDueAt: undefined,
        owner: undefined,
        paused: false,
        counters: NOTHING_COUNTED,
      });
    });

    it('counts messages by state', async ({ bench }) => {
      await bench.settled('dead', DEAD);
      await bench.deliver('in flight');
      await bench.publishAll([message('due'), message('due 2'), message('later', { due: { after: LONG } })]);

      expect(await bench.broker.stats(bench.partition)).toMatchObject({
        scheduled: 3,
        due: 2,
        inFlight: 1,
        dead: 1,
        nextDueAt: LONG_AGO,
        owner: bench.owner,
      });
    });

    it('takes a message for due when its time has come', async ({ bench }) => {
      const { dueAt } = await bench.publish('a', { due: { after: 10 } });
      await bench.publish('b', { due: { after: LONG } });
      await bench.advance(11);

      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 2, due: 1, nextDueAt: dueAt });
    });

    it('counts what has happened since the partition was created', async ({ bench }) => {
      await bench.settled('acked', ACK);
      await bench.settled('died', DEAD);
      const retried = await bench.settled('retried', RETRY);
      await bench.settle(retried, ACK);
      await bench.advance(1);
      await bench.settle(await bench.claimOne(), { kind: 'put-off', delay: LONG });
      await bench.cancel('retried');
      await bench.publish('died');
      await bench.publish('died', { onDuplicate: 'ignore' });
      await bench.publish('died', { onDuplicate: 'replace' });

      expect((await bench.broker.stats(bench.partition)).counters).toEqual({
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
    it('counts it beside all that died', async ({ bench }) => {
      await bench.settled('too late', DEAD_UNCALLED);
      await bench.settled('failed', DEAD);
      await bench.settled('invalid', { kind: 'dead', spent: false, failure: { ...FAILURE, reason: 'invalid' } });

      expect(await bench.broker.stats(bench.partition)).toMatchObject({ dead: 3, counters: { died: 3, expired: 1 } });
      expect(await bench.get('too late')).toMatchObject({ deliveries: 1, attempts: 0 });
    });
  });

  describe('now', () => {
    it("follows the broker's clock", async ({ bench }) => {
      for (let i = 0; i < 5; i++) await bench.broker.stats(bench.partition);
      const before = await bench.time();
      const now = bench.broker.now();
      const after = await bench.time();

      // As exact as half a round trip, which takes far less than this on a busy host, too.
      expect(now).toBeGreaterThan(before - 1000);
      expect(now).toBeLessThan(after + 1000);
    });

    it('moves on with it', async ({ bench }) => {
      await bench.broker.stats(bench.partition);
      const before = bench.broker.now();
      await bench.advance(20);

      expect(bench.broker.now() - before).toBeGreaterThan(19);
    });
  });
}
