import { describe, expect } from 'vitest';
import type { PartitionSignal } from '../../lib/broker/broker.interface.js';
import { type BrokerTest, ACK, DEAD, LONG, RETRY, message } from '../support/contract-bench.js';
import { Received } from '../support/contract-signals.js';

export function pauseContract(it: BrokerTest): void {
  describe('pause and resume', () => {
    it('hand out nothing, and then everything', async ({ bench }) => {
      const { broker } = bench;
      await bench.publishAll([message('a'), message('b')]);

      await broker.pause(bench.partition);
      expect(await bench.claim()).toMatchObject({ status: 'paused', messages: [], nextAt: undefined });
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ paused: true, scheduled: 2, due: 2 });

      await broker.resume(bench.partition);
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ paused: false });
      const { status, messages } = await bench.claim();
      expect([status, messages.map(({ storedId }) => storedId)]).toEqual(['claimed', ['a', 'b']]);
    });

    it('keep back what has to be delivered again, too', async ({ bench }) => {
      await bench.deliver('a', { lease: 5 });
      await bench.broker.pause(bench.partition);
      await bench.advance(6);

      expect((await bench.claim()).messages).toEqual([]);
      await bench.broker.resume(bench.partition);
      expect(await bench.claimOne()).toMatchObject({ storedId: 'a', delivery: 2 });
    });

    it('leave what is in flight alone: leases are renewed, outcomes count', async ({ bench }) => {
      const [a, b] = [await bench.deliver('a'), await bench.deliver('b')];
      await bench.broker.pause(bench.partition);

      expect(await bench.broker.extend(bench.partition, LONG, [a, b])).toEqual(['extended', 'extended']);
      expect(await bench.settle(a, ACK)).toBe('settled');
      expect(await bench.settle(b, RETRY)).toBe('settled');
      expect((await bench.claim()).messages).toEqual([]);
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ scheduled: 1, inFlight: 0 });
    });

    it('keep deliveries back only whose claim was not carried out before', async ({ bench }) => {
      await bench.publish('a');
      await bench.claim({ knownToken: 0 });
      await bench.broker.pause(bench.partition);

      expect((await bench.claim({ knownToken: 0 })).messages).toMatchObject([{ storedId: 'a', delivery: 1 }]);
    });

    it('let messages be published, moved, cancelled and trimmed', async ({ bench }) => {
      await bench.settled('dead', DEAD);
      await bench.broker.pause(bench.partition);

      expect(await bench.publish('a')).toMatchObject({ status: 'created' });
      expect(await bench.reschedule('a', { at: 5 })).toBe('rescheduled');
      expect(await bench.cancel('a')).toBe('cancelled');
      await bench.broker.trimDead(bench.partition, { maxCount: 0 });
      expect(await bench.broker.stats(bench.partition)).toMatchObject({ paused: true, scheduled: 0, dead: 0 });
    });

    it('may be done twice', async ({ bench }) => {
      const { broker } = bench;
      await bench.publish('a');
      await broker.pause(bench.partition);
      await broker.pause(bench.partition);
      await broker.resume(bench.partition);
      await broker.resume(bench.partition);

      expect((await bench.claim()).messages).toHaveLength(1);
    });

    it('concern one partition', async ({ bench }) => {
      await bench.broker.pause({ ...bench.partition, index: 1 });

      expect(await bench.broker.stats(bench.partition)).toMatchObject({ paused: false });
      await bench.publish('a');
      expect((await bench.claim()).messages).toHaveLength(1);
    });

    it('wake the owner when they end', async ({ bench }) => {
      const received = new Received<PartitionSignal>();
      await bench.publish('a');
      await bench.earlierSignalsArrived();
      await bench.broker.pause(bench.partition);
      const unsubscribe = bench.broker.watchPartition(bench.partition, received.listener);
      await bench.broker.link.listen();
      const before = Math.floor(await bench.time());
      await bench.broker.resume(bench.partition);

      const [signal] = await received.atLeast(1);
      expect(signal).toMatchObject({ kind: 'due' });
      expect(signal?.kind === 'due' && signal.at).toBeGreaterThanOrEqual(before);
      expect(signal?.kind === 'due' && signal.at).toBeLessThanOrEqual(await bench.time());
      await unsubscribe();
    });
  });
}
