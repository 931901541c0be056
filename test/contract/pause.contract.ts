import { describe, expect } from 'vitest';
import type { PartitionSignal } from '../../lib/store/fleet/signals.js';
import { type BrokerTest, ACK, DEAD, LONG, RETRY, message } from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';

export function pauseContract(it: BrokerTest): void {
  describe('pause and resume', () => {
    it('hand out nothing, and then everything', async ({ bed }) => {
      const { broker } = bed;
      await bed.publishAll([message('a'), message('b')]);

      await broker.deliveries.pause(bed.partition, bed.nextCall());
      expect(await bed.claim()).toMatchObject({ status: 'paused', messages: [], nextAt: expect.any(Number) as number });
      expect(await bed.stats()).toMatchObject({ paused: true, scheduled: 2, due: 2 });

      await broker.deliveries.resume(bed.partition, bed.nextCall());
      expect(await bed.stats()).toMatchObject({ paused: false });
      const { status, messages } = await bed.claim();
      expect([status, messages.map(({ storedId }) => storedId)]).toEqual(['claimed', ['a', 'b']]);
    });

    it('keep back what has to be delivered again, too', async ({ bed }) => {
      await bed.deliver('a', { lease: 5 });
      await bed.broker.deliveries.pause(bed.partition, bed.nextCall());
      await bed.advance(6);

      expect((await bed.claim()).messages).toEqual([]);
      await bed.broker.deliveries.resume(bed.partition, bed.nextCall());
      expect(await bed.claimOne()).toMatchObject({ storedId: 'a', delivery: 2 });
    });

    it('leave what is in flight alone: leases are renewed, outcomes count', async ({ bed }) => {
      const [a, b] = [await bed.deliver('a'), await bed.deliver('b')];
      await bed.broker.deliveries.pause(bed.partition, bed.nextCall());

      expect(await bed.broker.deliveries.extend(bed.partition, LONG, [a, b])).toEqual(['extended', 'extended']);
      expect(await bed.settle(a, ACK)).toBe('settled');
      expect(await bed.settle(b, RETRY)).toBe('settled');
      expect((await bed.claim()).messages).toEqual([]);
      expect(await bed.stats()).toMatchObject({ scheduled: 1, inFlight: 0 });
    });

    it('keep deliveries back only whose claim was not carried out before', async ({ bed }) => {
      await bed.publish('a');
      await bed.claim();
      await bed.broker.deliveries.pause(bed.partition, bed.nextCall());

      expect((await bed.repeatClaim()).messages).toMatchObject([{ storedId: 'a', delivery: 1 }]);
    });

    it('let messages be published, moved, cancelled and trimmed', async ({ bed }) => {
      await bed.settled('dead', DEAD);
      await bed.broker.deliveries.pause(bed.partition, bed.nextCall());

      expect(await bed.publish('a')).toMatchObject({ status: 'created' });
      expect(await bed.reschedule('a', { at: 5 })).toBe('moved');
      expect(await bed.cancel('a')).toBe('cancelled');
      await bed.broker.deadLetters.trimDead(bed.partition, { maxCount: 0 });
      expect(await bed.stats()).toMatchObject({ paused: true, scheduled: 0, dead: 0 });
    });

    it('may be done twice', async ({ bed }) => {
      const { broker } = bed;
      await bed.publish('a');
      await broker.deliveries.pause(bed.partition, bed.nextCall());
      await broker.deliveries.pause(bed.partition, bed.nextCall());
      await broker.deliveries.resume(bed.partition, bed.nextCall());
      await broker.deliveries.resume(bed.partition, bed.nextCall());

      expect((await bed.claim()).messages).toHaveLength(1);
    });

    it('are done once each: a delayed copy undoes nothing that came after', async ({ bed }) => {
      const { broker, partition } = bed;
      const stats = async () => broker.messages.stats(partition);
      const [pause, resume] = [bed.nextCall(), { caller: 'another', sequence: 1 }];
      await broker.deliveries.pause(partition, pause);
      await broker.deliveries.resume(partition, resume);
      await broker.deliveries.pause(partition, pause);
      expect(await stats()).toMatchObject({ paused: false });

      await broker.deliveries.pause(partition, bed.nextCall());
      await broker.deliveries.hold(partition, bed.nextCall(), LONG);
      await broker.deliveries.resume(partition, resume);
      expect(await stats()).toMatchObject({ paused: true, heldUntil: expect.any(Number) as number });
    });

    it.for(['pause', 'resume'] as const)(
      'are not done any more once their caller has gone on: %s',
      async (name, { bed }) => {
        const { broker, partition } = bed;
        if (name === 'resume') await broker.deliveries.pause(partition, bed.nextCall());
        const late = bed.nextCall();
        await broker.deliveries.hold(partition, bed.nextCall(), LONG);
        await expect(broker.deliveries[name](partition, late)).rejects.toMatchObject({
          transient: true,
          refused: false,
        });
        expect(await broker.messages.stats(partition)).toMatchObject({ paused: name === 'resume' });
      },
    );

    it('concern one partition', async ({ bed }) => {
      await bed.broker.deliveries.pause({ ...bed.partition, index: 1 }, bed.nextCall());

      expect(await bed.stats()).toMatchObject({ paused: false });
      await bed.publish('a');
      expect((await bed.claim()).messages).toHaveLength(1);
    });

    it('wake the owner when they end', async ({ bed }) => {
      const received = new Received<PartitionSignal>();
      await bed.publish('a');
      await bed.earlierSignalsArrived();
      await bed.broker.deliveries.pause(bed.partition, bed.nextCall());
      const unsubscribe = bed.broker.watchPartition(bed.partition, received.listener);
      await bed.broker.link.listen();
      const before = Math.floor(await bed.time());
      await bed.broker.deliveries.resume(bed.partition, bed.nextCall());

      const [signal] = await received.atLeast(1);
      expect(signal).toMatchObject({ kind: 'due' });
      expect(signal?.kind === 'due' && signal.at).toBeGreaterThanOrEqual(before);
      expect(signal?.kind === 'due' && signal.at).toBeLessThanOrEqual(await bed.time());
      await unsubscribe();
    });
  });
}
