import { describe, expect } from 'vitest';
import type { PartitionSignal } from '../../lib/store/fleet/signals.js';
import {
  type BrokerBed,
  type BrokerTest,
  ACK,
  DEAD,
  LONG,
  LONG_AGO,
  RELEASE,
  message,
} from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';

/** Earlier than all other times in these tests: its signal comes last and shows that all others have arrived. */
const LAST = 1;

async function watch(bed: BrokerBed): Promise<Received<PartitionSignal>> {
  await bed.earlierSignalsArrived();
  const signals = new Received<PartitionSignal>();
  bed.broker.watchPartition(bed.partition, signals.listener);
  await bed.broker.link.listen();
  return signals;
}

/** When something was said to be due, up to now. */
async function wakeUps(bed: BrokerBed, signals: Received<PartitionSignal>): Promise<(number | string)[]> {
  await bed.publish('the last one', { due: { at: LAST } });
  for (let count = 1; ; count++) {
    const received = await signals.atLeast(count);
    const times = received.map((signal) => (signal.kind === 'due' ? signal.at : signal.kind));
    if (times.at(-1) === LAST) return times.slice(0, -1);
  }
}

export function signalContract(it: BrokerTest): void {
  describe('the wake-up signal', () => {
    it('comes when something is published into an empty partition', async ({ bed }) => {
      const signals = await watch(bed);
      const { dueAt } = await bed.publish('a', { due: { after: LONG } });

      expect(await signals.atLeast(1)).toEqual([{ kind: 'due', at: dueAt }]);
    });

    it('tells the due time that a longest wait allows', async ({ bed }) => {
      const signals = await watch(bed);
      const { dueAt } = await bed.publish('a', { due: { after: LONG }, onDuplicate: 'replace', maxWait: 1000 });

      expect(await signals.atLeast(1)).toEqual([{ kind: 'due', at: dueAt }]);
      expect(dueAt).toBeLessThan((await bed.time()) + LONG / 2);
    });

    it('comes when the head of the partition moves forward, and only then', async ({ bed }) => {
      const signals = await watch(bed);
      const times = [500, 600, 500, 400, 450, 300];
      for (const [i, at] of times.entries()) await bed.publish(`message ${i}`, { due: { at } });

      expect(await wakeUps(bed, signals)).toEqual([500, 400, 300]);
    });

    it('comes once a call, with the earliest time', async ({ bed }) => {
      const signals = await watch(bed);
      await bed.publishAll([500, 300, 400].map((at) => message(`at ${at}`, { due: { at } })));

      expect(await wakeUps(bed, signals)).toEqual([300]);
    });

    it('comes when a replacement moves the head forward, not when it moves it back', async ({ bed }) => {
      await bed.publish('a', { due: { at: 500 } });
      await bed.publish('b', { due: { at: 700 } });
      const signals = await watch(bed);

      await bed.publish('a', { due: { at: 600 }, onDuplicate: 'replace' });
      await bed.publish('b', { due: { at: 400 }, onDuplicate: 'replace' });

      expect(await wakeUps(bed, signals)).toEqual([400]);
    });

    it("comes when 'earliest' moves the head forward, and not when it moves nothing", async ({ bed }) => {
      await bed.publish('a', { due: { at: 500 } });
      await bed.publish('b', { due: { at: 700 } });
      const signals = await watch(bed);

      await bed.publish('b', { due: { at: 800 }, onDuplicate: 'earliest' });
      await bed.publish('b', { due: { at: 600 }, onDuplicate: 'earliest' });
      await bed.publish('b', { due: { at: 400 }, onDuplicate: 'earliest' });

      expect(await wakeUps(bed, signals)).toEqual([400]);
    });

    it('comes when a message is moved before the head, or the head forward, and only then', async ({ bed }) => {
      await bed.publish('a', { due: { at: 500 } });
      await bed.publish('b', { due: { at: 700 } });
      const signals = await watch(bed);

      await bed.reschedule('b', { at: 600 });
      await bed.reschedule('b', { at: 500 });
      await bed.reschedule('b', { at: 400 });
      await bed.reschedule('b', { at: 300 });
      await bed.reschedule('b', { at: 800 });
      await bed.reschedule('b', { at: 450 });

      expect(await wakeUps(bed, signals)).toEqual([400, 300, 450]);
    });

    it('does not come when the head is moved back, not even for the message that is the head then', async ({ bed }) => {
      await bed.publish('a', { due: { at: 500 } });
      await bed.publish('b', { due: { at: 700 } });
      const signals = await watch(bed);

      await bed.reschedule('a', { at: 900 });

      expect(await wakeUps(bed, signals)).toEqual([]);
    });

    it('tells the time that a delay leads to, where the only message of a partition is moved', async ({ bed }) => {
      await bed.publish('a', { due: { after: 2 * LONG } });
      const signals = await watch(bed);

      await bed.reschedule('a', { after: LONG });

      expect(await wakeUps(bed, signals)).toEqual([(await bed.get('a'))?.at]);
    });

    it('does not come for a message that cannot be moved', async ({ bed }) => {
      await bed.settled('dead', DEAD);
      await bed.deliver('in flight');
      await bed.publish('a', { due: { at: 500 } });
      const signals = await watch(bed);

      for (const id of ['dead', 'in flight', 'unknown']) await bed.reschedule(id, { at: 100 });

      expect(await wakeUps(bed, signals)).toEqual([]);
    });

    it('does not come for a duplicate that changed nothing', async ({ bed }) => {
      await bed.publish('a', { due: { at: 500 } });
      const signals = await watch(bed);

      await bed.publish('a', { due: { at: 100 } });
      await bed.publish('a', { due: { at: 100 }, onDuplicate: 'ignore' });

      expect(await wakeUps(bed, signals)).toEqual([]);
    });

    it('does not come for the replacement of a message in flight until that has ended', async ({ bed }) => {
      const running = await bed.deliver('a');
      const signals = await watch(bed);
      await bed.publish('a', { due: { at: 100 }, onDuplicate: 'replace' });
      await bed.publish('b', { due: { at: 500 } });
      await bed.settle(running, ACK);

      expect(await wakeUps(bed, signals)).toEqual([500, 100]);
    });

    it('comes when a message that goes back is the new head', async ({ bed }) => {
      await bed.publishAll([message('a'), message('b')]);
      const { messages } = await bed.claim();
      const [a, b] = messages;
      if (!a || !b) throw new Error('two were claimed');
      const signals = await watch(bed);
      await bed.settle(a, { kind: 'put-off', delay: LONG });
      const putOffTo = (await bed.get('a'))?.at;
      await bed.settle(b, RELEASE);

      expect(await wakeUps(bed, signals)).toEqual([putOffTo, LONG_AGO]);
    });

    it('does not come for an outcome that moves no head', async ({ bed }) => {
      await bed.publishAll([message('a'), message('b'), message('c')]);
      const { messages } = await bed.claim();
      const [a, b, c] = messages;
      if (!a || !b || !c) throw new Error('three were claimed');
      await bed.publish('head', { due: { at: 500 } });
      const signals = await watch(bed);

      await bed.settleAll([
        [a, ACK],
        [b, DEAD],
        [c, { kind: 'retry', delay: LONG, failure: { reason: 'failed', name: 'Error', message: '' } }],
      ]);

      expect(await wakeUps(bed, signals)).toEqual([]);
    });
  });

  describe('watchPartition', () => {
    it('tells of one partition only', async ({ bed }) => {
      const signals = await watch(bed);
      await bed.broker.messages.publish({ ...bed.partition, index: 1 }, bed.nextCall(), [message('a')]);
      await bed.broker.messages.publish({ ...bed.partition, topic: 'other' }, bed.nextCall(), [message('a')]);

      expect(await wakeUps(bed, signals)).toEqual([]);
    });

    it('tells every listener', async ({ bed }) => {
      const both = [await watch(bed), new Received<PartitionSignal>()] as const;
      bed.broker.watchPartition(bed.partition, both[1].listener);
      await bed.broker.link.listen();
      await bed.publish('a', { due: { at: 500 } });

      for (const signals of both) expect(await signals.atLeast(1)).toEqual([{ kind: 'due', at: 500 }]);
    });

    it('ends for a listener that unsubscribes, and not for the others', async ({ bed }) => {
      const staying = await watch(bed);
      const gone = new Received<PartitionSignal>();
      const unsubscribe = bed.broker.watchPartition(bed.partition, gone.listener);
      await unsubscribe();
      await unsubscribe();
      await bed.publish('a', { due: { at: 500 } });

      expect(await wakeUps(bed, staying)).toEqual([500]);
      expect(gone.all).toEqual([]);
    });

    it('begins anew after the last listener had unsubscribed', async ({ bed }) => {
      const unsubscribe = bed.broker.watchPartition(bed.partition, () => {});
      await unsubscribe();
      const signals = await watch(bed);
      await bed.publish('a', { due: { at: 500 } });

      expect(await signals.atLeast(1)).toEqual([{ kind: 'due', at: 500 }]);
    });
  });
}
