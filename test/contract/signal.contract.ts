import { describe, expect } from 'vitest';
import type { PartitionSignal } from '../../lib/broker/broker.interface.js';
import {
  type Bench,
  type BrokerTest,
  ACK,
  DEAD,
  LONG,
  LONG_AGO,
  RELEASE,
  message,
} from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';

/** Earlier than every other time of these tests: its signal comes last, and shows that all before it have arrived. */
const LAST = 1;

async function watch(bench: Bench): Promise<Received<PartitionSignal>> {
  await bench.earlierSignalsArrived();
  const signals = new Received<PartitionSignal>();
  bench.broker.watchPartition(bench.partition, signals.listener);
  await bench.broker.link.listen();
  return signals;
}

/** When something was said to be due, up to now. */
async function wakeUps(bench: Bench, signals: Received<PartitionSignal>): Promise<(number | string)[]> {
  await bench.publish('the last one', { due: { at: LAST } });
  for (let count = 1; ; count++) {
    const received = await signals.atLeast(count);
    const times = received.map((signal) => (signal.kind === 'due' ? signal.at : signal.kind));
    if (times.at(-1) === LAST) return times.slice(0, -1);
  }
}

export function signalContract(it: BrokerTest): void {
  describe('the wake-up signal', () => {
    it('comes when something is published into an empty partition', async ({ bench }) => {
      const signals = await watch(bench);
      const { dueAt } = await bench.publish('a', { due: { after: LONG } });

      expect(await signals.atLeast(1)).toEqual([{ kind: 'due', at: dueAt }]);
    });

    it('comes when the head of the partition moves forward, and only then', async ({ bench }) => {
      const signals = await watch(bench);
      const times = [500, 600, 500, 400, 450, 300];
      for (const [i, at] of times.entries()) await bench.publish(`message ${i}`, { due: { at } });

      expect(await wakeUps(bench, signals)).toEqual([500, 400, 300]);
    });

    it('comes once a call, with the earliest time', async ({ bench }) => {
      const signals = await watch(bench);
      await bench.publishAll([500, 300, 400].map((at) => message(`at ${at}`, { due: { at } })));

      expect(await wakeUps(bench, signals)).toEqual([300]);
    });

    it('comes when a replacement moves the head forward, not when it moves it back', async ({ bench }) => {
      await bench.publish('a', { due: { at: 500 } });
      await bench.publish('b', { due: { at: 700 } });
      const signals = await watch(bench);

      await bench.publish('a', { due: { at: 600 }, onDuplicate: 'replace' });
      await bench.publish('b', { due: { at: 400 }, onDuplicate: 'replace' });

      expect(await wakeUps(bench, signals)).toEqual([400]);
    });

    it('comes when a message is moved before the head, or the head forward, and only then', async ({ bench }) => {
      await bench.publish('a', { due: { at: 500 } });
      await bench.publish('b', { due: { at: 700 } });
      const signals = await watch(bench);

      await bench.reschedule('b', { at: 600 });
      await bench.reschedule('b', { at: 500 });
      await bench.reschedule('b', { at: 400 });
      await bench.reschedule('b', { at: 300 });
      await bench.reschedule('b', { at: 800 });
      await bench.reschedule('b', { at: 450 });

      expect(await wakeUps(bench, signals)).toEqual([400, 300, 450]);
    });

    it('does not come when the head is moved back, not even for the message that is the head then', async ({
      bench,
    }) => {
      await bench.publish('a', { due: { at: 500 } });
      await bench.publish('b', { due: { at: 700 } });
      const signals = await watch(bench);

      await bench.reschedule('a', { at: 900 });

      expect(await wakeUps(bench, signals)).toEqual([]);
    });

    it('tells the time that a delay leads to, where the only message of a partition is moved', async ({ bench }) => {
      await bench.publish('a', { due: { after: 2 * LONG } });
      const signals = await watch(bench);

      await bench.reschedule('a', { after: LONG });

      expect(await wakeUps(bench, signals)).toEqual([(await bench.get('a'))?.at]);
    });

    it('does not come for a message that cannot be moved', async ({ bench }) => {
      await bench.settled('dead', DEAD);
      await bench.deliver('in flight');
      await bench.publish('a', { due: { at: 500 } });
      const signals = await watch(bench);

      for (const id of ['dead', 'in flight', 'unknown']) await bench.reschedule(id, { at: 100 });

      expect(await wakeUps(bench, signals)).toEqual([]);
    });

    it('does not come for a duplicate that changed nothing', async ({ bench }) => {
      await bench.publish('a', { due: { at: 500 } });
      const signals = await watch(bench);

      await bench.publish('a', { due: { at: 100 } });
      await bench.publish('a', { due: { at: 100 }, onDuplicate: 'ignore' });

      expect(await wakeUps(bench, signals)).toEqual([]);
    });

    it('does not come for the replacement of a message in flight until that has ended', async ({ bench }) => {
      const running = await bench.deliver('a');
      const signals = await watch(bench);
      await bench.publish('a', { due: { at: 100 }, onDuplicate: 'replace' });
      await bench.publish('b', { due: { at: 500 } });
      await bench.settle(running, ACK);

      expect(await wakeUps(bench, signals)).toEqual([500, 100]);
    });

    it('comes when a message that goes back is the new head', async ({ bench }) => {
      await bench.publishAll([message('a'), message('b')]);
      const { messages } = await bench.claim();
      const [a, b] = messages;
      if (!a || !b) throw new Error('two were claimed');
      const signals = await watch(bench);
      await bench.settle(a, { kind: 'put-off', delay: LONG });
      const putOffTo = (await bench.get('a'))?.at;
      await bench.settle(b, RELEASE);

      expect(await wakeUps(bench, signals)).toEqual([putOffTo, LONG_AGO]);
    });

    it('does not come for an outcome that moves no head', async ({ bench }) => {
      await bench.publishAll([message('a'), message('b'), message('c')]);
      const { messages } = await bench.claim();
      const [a, b, c] = messages;
      if (!a || !b || !c) throw new Error('three were claimed');
      await bench.publish('head', { due: { at: 500 } });
      const signals = await watch(bench);

      await bench.settleAll([
        [a, ACK],
        [b, DEAD],
        [c, { kind: 'retry', delay: LONG, failure: { reason: 'failed', name: 'Error', message: '' } }],
      ]);

      expect(await wakeUps(bench, signals)).toEqual([]);
    });
  });

  describe('watchPartition', () => {
    it('tells of one partition only', async ({ bench }) => {
      const signals = await watch(bench);
      await bench.broker.publish({ ...bench.partition, index: 1 }, bench.nextCall(), [message('a')]);
      await bench.broker.publish({ ...bench.partition, topic: 'other' }, bench.nextCall(), [message('a')]);

      expect(await wakeUps(bench, signals)).toEqual([]);
    });

    it('tells every listener', async ({ bench }) => {
      const both = [await watch(bench), new Received<PartitionSignal>()] as const;
      bench.broker.watchPartition(bench.partition, both[1].listener);
      await bench.broker.link.listen();
      await bench.publish('a', { due: { at: 500 } });

      for (const signals of both) expect(await signals.atLeast(1)).toEqual([{ kind: 'due', at: 500 }]);
    });

    it('ends for a listener that unsubscribes, and not for the others', async ({ bench }) => {
      const staying = await watch(bench);
      const gone = new Received<PartitionSignal>();
      const unsubscribe = bench.broker.watchPartition(bench.partition, gone.listener);
      await unsubscribe();
      await unsubscribe();
      await bench.publish('a', { due: { at: 500 } });

      expect(await wakeUps(bench, staying)).toEqual([500]);
      expect(gone.all).toEqual([]);
    });

    it('begins anew after the last listener had unsubscribed', async ({ bench }) => {
      const unsubscribe = bench.broker.watchPartition(bench.partition, () => {});
      await unsubscribe();
      const signals = await watch(bench);
      await bench.publish('a', { due: { at: 500 } });

      expect(await signals.atLeast(1)).toEqual([{ kind: 'due', at: 500 }]);
    });
  });
}
