import { describe, expect } from 'vitest';
import type { StoredMessage } from '../../lib/store/messages/stored-message.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import {
  ACK,
  type BrokerBed,
  type BrokerTest,
  DEAD,
  FAILURE,
  LONG,
  LONG_AGO,
  RETRY,
  RETRY_LATER,
  message,
} from '../support/broker/broker-bed.js';

const PROCESS = 'host:1:uuid';

/** Has a message end in each of the ways in which it can be kept. */
const ENDS = {
  acked: async (bed: BrokerBed, id: string) => void (await bed.settled(id, ACK)),
  cancelled: async (bed: BrokerBed, id: string) => {
    await bed.publish(id);
    await bed.cancel(id);
  },
} as const;

/** With the topic's option, and a claim that has told the partition of it. */
async function keep(bed: BrokerBed, limits: { maxAge?: number; maxCount?: number } = { maxAge: LONG }): Promise<void> {
  bed.finished = limits;
  await bed.claim({ max: 0 });
}

async function idsOf(bed: BrokerBed): Promise<string[]> {
  const { messages } = await bed.broker.messages.peek(bed.partition, {
    state: 'finished',
    limit: 200,
    maxBytes: 1_000_000,
  });
  return messages.map(({ storedId }) => storedId);
}

async function outcomeOf(bed: BrokerBed, storedId: string): Promise<string | undefined> {
  return (await bed.get(storedId))?.ending?.outcome;
}

export function finishedContract(it: BrokerTest): void {
  describe('finished messages', () => {
    it('are not kept unless the owner asks for it', async ({ bed }) => {
      expect(await bed.claim()).toMatchObject({ keepsFinished: false });
      for (const end of Object.values(ENDS)) await end(bed, 'a');

      expect(await bed.get('a')).toBeUndefined();
      expect(await bed.stats()).toMatchObject({ finished: 0 });
      expect(await bed.broker.deadLetters.trimFinished(bed.partition)).toBeUndefined();
    });

    it('are kept with their story once they are acknowledged', async ({ bed }) => {
      await keep(bed);
      await bed.publish('a', { envelope: '[1,"kept"]' });
      const { storedId, token } = await bed.claimOne();
      const settlement = { storedId, token, outcome: ACK, duration: 12.3 };
      const before = Math.floor(await bed.time());
      await bed.broker.deliveries.settle(bed.partition, bed.nextCall(), [settlement], PROCESS);

      const stored = (await bed.get('a')) as StoredMessage;
      expect(stored).toEqual({
        storedId: 'a',
        state: 'finished',
        at: stored.at,
        envelope: '[1,"kept"]',
        deliveries: 1,
        attempts: 1,
        failure: undefined,
        history: [],
        ending: { outcome: 'acked', dueAt: LONG_AGO, duration: 12, process: PROCESS },
      });
      expect(stored.at).toBeGreaterThanOrEqual(before);
      expect(stored.at).toBeLessThanOrEqual(await bed.time());
      expect(await bed.stats()).toMatchObject({ scheduled: 0, inFlight: 0, finished: 1, counters: { acked: 1 } });
    });

    it('are kept with the attempts that failed', async ({ bed }) => {
      await keep(bed);
      const at = new Date(5);
      const failedAttempt = { at, attempt: 1, name: 'Error', message: 'boom', duration: 3 };
      await bed.settled('a', { kind: 'retry', delay: 0, failure: FAILURE, failedAttempt });
      await bed.advance(1);
      await bed.settle(await bed.claimOne(), ACK);

      expect(await bed.get('a')).toMatchObject({
        state: 'finished',
        deliveries: 2,
        attempts: 2,
        failure: FAILURE,
        history: [failedAttempt],
        ending: { outcome: 'acked', duration: undefined, process: undefined },
      });
    });

    it('are kept once they are cancelled, whatever they were doing', async ({ bed }) => {
      await keep(bed);
      await bed.publish('waiting', { due: { at: LONG_AGO + LONG * LONG } });
      await bed.cancel('waiting');
      const running = await bed.deliver('running');
      await bed.cancel('running');
      expect(await bed.get('running')).toMatchObject({ state: 'in-flight' });
      await bed.settle(running, RETRY);
      await bed.settled('retried', RETRY_LATER);
      await bed.cancel('retried');
      await bed.deliver('crashed', { lease: 1 });
      await bed.cancel('crashed');
      await bed.advance(2);
      await bed.claim();

      expect(await bed.get('waiting')).toMatchObject({
        state: 'finished',
        deliveries: 0,
        ending: { outcome: 'cancelled', dueAt: LONG_AGO + LONG * LONG, duration: undefined, process: undefined },
      });
      expect(await bed.get('running')).toMatchObject({ deliveries: 1, ending: { outcome: 'cancelled' } });
      expect(await bed.get('retried')).toMatchObject({ failure: FAILURE, ending: { outcome: 'cancelled' } });
      expect(await bed.get('crashed')).toMatchObject({ deliveries: 1, ending: { outcome: 'cancelled' } });
      expect((await bed.stats()).counters).toMatchObject({ cancelled: 4 });
    });

    it('are kept as acknowledged if their handler succeeded although they were cancelled', async ({ bed }) => {
      await keep(bed);
      const claimed = await bed.deliver('a');
      await bed.cancel('a');
      await bed.settle(claimed, ACK);

      expect(await outcomeOf(bed, 'a')).toBe('acked');
    });

    it('are kept once they are drained', async ({ bed }) => {
      await keep(bed);
      await bed.publishAll([message('a'), message('b')]);
      expect(await bed.broker.messages.clear(bed.partition, bed.nextCall(), 'scheduled')).toMatchObject({ removed: 2 });

      expect(await bed.get('b')).toMatchObject({ ending: { outcome: 'cancelled', dueAt: LONG_AGO } });
      expect(await idsOf(bed)).toEqual(['a', 'b']);
    });

    it('are all that was drained, what was held back too, however large it is', async ({ bed }) => {
      await keep(bed);
      bed.keyLimits = { inFlight: 1 };
      const envelope = `[1,"${'x'.repeat(100_000)}"]`;
      await bed.publishAll(['a\0k', 'b\0k', 'c\0k', 'd\0k', 'e\0k'].map((id) => message(id, { envelope })));
      await bed.claim();
      for (let more = true; more;) {
        ({ more } = await bed.broker.messages.clear(bed.partition, bed.nextCall(), 'scheduled'));
      }

      expect(await bed.stats()).toMatchObject({ scheduled: 0, inFlight: 1, finished: 4 });
    });

    it('are no dead letters, and nothing that was replaced', async ({ bed }) => {
      await keep(bed);
      await bed.settled('dead', DEAD);
      await bed.broker.messages.clear(bed.partition, bed.nextCall(), 'dead');
      const replaced = await bed.deliver('replaced');
      await bed.publish('replaced', { onDuplicate: 'replace', due: { after: LONG } });
      await bed.settle(replaced, ACK);

      expect(await idsOf(bed)).toEqual([]);
      expect(await bed.get('replaced')).toMatchObject({ state: 'scheduled', deliveries: 0 });
    });

    it.for(['acked', 'cancelled'] as const)(
      'refuse another message with their id, and say why: %s',
      async (outcome, { bed }) => {
        await keep(bed);
        await ENDS[outcome](bed, 'a');
        const before = await bed.get('a');

        const refused = { status: 'rejected', finishedAs: outcome, dueAt: LONG_AGO };
        expect(await bed.publishAll([message('a'), message('b')])).toMatchObject([refused, { status: 'created' }]);
        expect(await bed.publish('a', { onDuplicate: 'ignore' })).toEqual({ status: 'ignored', dueAt: LONG_AGO });
        expect(await bed.get('a')).toEqual(before);
      },
    );

    it.for(['acked', 'cancelled'] as const)('give way to one that replaces them: %s', async (outcome, { bed }) => {
      await keep(bed);
      await ENDS[outcome](bed, 'a');

      expect(await bed.publish('a', { onDuplicate: 'replace' })).toMatchObject({ status: 'created' });
      expect(await bed.get('a')).toMatchObject({ state: 'scheduled', deliveries: 0, attempts: 0 });
      expect(await idsOf(bed)).toEqual([]);
      expect(await bed.publish('a')).toEqual({ status: 'rejected', dueAt: LONG_AGO });
      expect(await bed.settle(await bed.claimOne(), ACK)).toBe('settled');
      expect(await idsOf(bed)).toEqual(['a']);
    });

    it('keep their id taken within one call, too', async ({ bed }) => {
      await keep(bed);
      await bed.settled('a', ACK);
      const replacing = message('a', { onDuplicate: 'replace' });

      expect(await bed.publishAll([message('a'), replacing, replacing, message('a')])).toMatchObject([
        { status: 'rejected', finishedAs: 'acked' },
        { status: 'created' },
        { status: 'replaced' },
        { status: 'rejected' },
      ]);
    });

    it('can no longer be changed', async ({ bed }) => {
      await keep(bed);
      await bed.settled('a', ACK);
      const { broker, partition } = bed;

      expect(await bed.cancel('a')).toBe('not-found');
      expect(await bed.reschedule('a', { after: 1 })).toBe('not-found');
      expect(await broker.messages.runNow(partition, bed.nextCall(), 'a')).toBe('not-found');
      const { envelope: expected } = (await bed.get('a')) as StoredMessage;
      const edit = { storedId: 'a', expected, envelope: '[9]' };
      expect(await broker.messages.edit(partition, bed.nextCall(), edit)).toBe('changed');
      expect(await bed.settle({ storedId: 'a', token: bed.token(1) }, RETRY)).toBe('stale');
      expect(await outcomeOf(bed, 'a')).toBe('acked');
    });

    it('are found by their id without their key, as long as they are kept', async ({ bed }) => {
      await keep(bed, { maxCount: 1 });
      const storedId = toStoredId('id', 'key');
      await bed.settled(storedId, ACK);
      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([storedId]);
      await bed.settled('other', ACK);

      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([]);
      await bed.publish(storedId);
      await bed.settled('another', ACK);
      expect(await bed.broker.messages.locate(bed.partition, 'id')).toEqual([storedId]);
    });

    it('are listed in the order in which they ended, page by page', async ({ bed }) => {
      await keep(bed);
      for (const id of ['c', 'a', 'b']) {
        await bed.settled(id, ACK);
        await bed.advance(1);
      }
      const request = { state: 'finished', limit: 2, maxBytes: 1_000_000 } as const;
      const first = await bed.broker.messages.peek(bed.partition, request);
      const second = await bed.broker.messages.peek(bed.partition, { ...request, after: first.next });

      expect(first.messages).toEqual([await bed.get('c'), await bed.get('a')]);
      expect(second.messages).toEqual([await bed.get('b')]);
      expect(second.next).toBeUndefined();
    });

    it('are kept whatever their size', async ({ bed }) => {
      await keep(bed);
      const envelope = `[1,"${'x'.repeat(1024 * 1024 - 10)}"]`;
      await bed.publishAll(['a', 'b'].map((id) => message(id, { envelope })));
      const claimed = [await bed.claimOne(), await bed.claimOne()];
      await bed.settleAll(claimed.map((receipt) => [receipt, ACK]));
      await bed.publish('c', { envelope });
      await bed.cancel('c');

      for (const id of ['a', 'b', 'c']) expect(await bed.get(id)).toMatchObject({ state: 'finished', envelope });
      expect(await bed.publish('a')).toMatchObject({ finishedAs: 'acked' });
    });

    it('stay for as long as was promised if the next owner keeps none, and nothing more is kept', async ({ bed }) => {
      await keep(bed, { maxAge: LONG, maxCount: 1 });
      await bed.settled('a', ACK);
      bed.finished = undefined;
      expect(await bed.claim({ max: 0 })).toMatchObject({ keepsFinished: true });
      await bed.settled('b', ACK);

      expect(await bed.broker.deadLetters.trimFinished(bed.partition)).toBeGreaterThan(0);
      expect(await idsOf(bed)).toEqual(['a']);
      expect(await outcomeOf(bed, 'a')).toBe('acked');
      expect(await bed.publish('a')).toMatchObject({ status: 'rejected', finishedAs: 'acked' });
    });

    it('are removed by the next owner if it keeps none, and no time was promised', async ({ bed }) => {
      await keep(bed, { maxCount: 9 });
      await bed.settled('a', ACK);
      bed.finished = undefined;
      expect(await bed.claim({ max: 0 })).toMatchObject({ keepsFinished: true });

      expect(await outcomeOf(bed, 'a')).toBeUndefined();
      expect(await bed.publish('a')).toMatchObject({ status: 'created' });
      await bed.broker.deadLetters.trimFinished(bed.partition);
      expect(await idsOf(bed)).toEqual([]);
    });

    it('free their key in an ordered topic', async ({ bed }) => {
      bed.order = 'continue';
      await keep(bed);
      await bed.publish('k');
      await bed.publish('b\0k');
      await bed.settle(await bed.claimOne(), ACK);

      expect(await outcomeOf(bed, 'k')).toBe('acked');
      expect(await bed.claimOne()).toMatchObject({ storedId: 'b\0k' });
    });
  });
}
