import { describe, expect } from 'vitest';
import type { PartitionSignal } from '../../lib/store/fleet/signals.js';
import type { PeekedState, StoredMessage } from '../../lib/store/messages/stored-message.js';
import { toStoredId } from '../../lib/messages/stored-id.js';
import {
  ACK,
  type BrokerBed,
  type BrokerTest,
  DEAD,
  LONG,
  RETRY,
  RETRY_LATER,
  message,
} from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';

const LATER = { due: { after: LONG } } as const;

async function listed(bed: BrokerBed, tag: string, state: PeekedState = 'scheduled'): Promise<string[]> {
  const request = { state, tag, limit: 200, maxBytes: 1_000_000 };
  const { messages } = await bed.broker.messages.peek(bed.partition, request);
  return messages.map(({ storedId }) => storedId);
}

async function cancelAll(bed: BrokerBed, tag: string): Promise<{ cancelled: number; inFlight: number; calls: number }> {
  const total = { cancelled: 0, inFlight: 0, calls: 0 };
  let after: string | undefined;
  do {
    const { cancelled, inFlight, next } = await bed.cancelTagged(tag, after);
    total.cancelled += cancelled;
    total.inFlight += inFlight;
    total.calls++;
    after = next;
  } while (after !== undefined);
  return total;
}

/** More than one step looks at. */
function half(name: string): string[] {
  return Array.from({ length: 130 }, (_, i) => `${name}-${i}`);
}

async function deathOf(bed: BrokerBed, storedId: string): Promise<{ storedId: string; diedAt: number }> {
  return { storedId, diedAt: ((await bed.get(storedId)) as StoredMessage).at };
}

export function tagsContract(it: BrokerTest): void {
  describe('tags', () => {
    it('list the messages that carry them, in order of their ids, whatever their due times', async ({ bed }) => {
      const keyed = toStoredId('c', 'key');
      await bed.publish(keyed, { ...LATER, tags: ['x', 'y'] });
      await bed.publish('b', { due: { after: 2 * LONG }, tags: ['x'] });
      await bed.publish('a', { due: { after: 3 * LONG }, tags: ['x', 'xx'] });
      await bed.publish('none', LATER);

      expect(await listed(bed, 'x')).toEqual(['a', 'b', keyed]);
      expect(await listed(bed, 'y')).toEqual([keyed]);
      expect(await listed(bed, 'xx')).toEqual(['a']);
      expect(await listed(bed, 'no such tag')).toEqual([]);
      const { messages } = await bed.broker.messages.peek(bed.partition, {
        state: 'scheduled',
        tag: 'y',
        limit: 1,
        maxBytes: 1,
      });
      expect(messages).toEqual([await bed.get(keyed)]);
    });

    it('may be any text, and are not taken for others', async ({ bed }) => {
      const tags = ['a', 'a\u0001', 'a ', '[a', '(a', '+', '-', 'é\u{1F600}', 'A', 'x'.repeat(128)];
      for (const [i, tag] of tags.entries()) await bed.publish(`id-${i}`, { ...LATER, tags: [tag] });

      for (const [i, tag] of tags.entries()) expect(await listed(bed, tag)).toEqual([`id-${i}`]);
    });

    it('of many messages of one call are kept apart', async ({ bed }) => {
      const messages = Array.from({ length: 200 }, (_, i) =>
        message(`id-${i}`, {
          ...LATER,
          tags: i % 3 === 0 ? undefined : Array.from({ length: (i % 8) + 1 }, (__, n) => `tag ${n}`),
        }),
      );
      await bed.publishAll(messages);

      for (let n = 0; n < 8; n++) {
        const carriers = messages.filter(({ tags }) => tags?.includes(`tag ${n}`)).map(({ storedId }) => storedId);
        expect((await listed(bed, `tag ${n}`)).toSorted()).toEqual(carriers.toSorted());
      }
    });

    it('list by state', async ({ bed }) => {
      await bed.publishAll(
        ['a', 'b', 'c', 'd', 'e'].map((id, i) => message(id, { tags: ['x'], due: { at: 1000 + i } })),
      );
      await bed.settle(await bed.claimOne(), DEAD);
      await bed.settle(await bed.claimOne(), RETRY_LATER);
      await bed.claimOne();

      expect(await listed(bed, 'x', 'dead')).toEqual(['a']);
      expect(await listed(bed, 'x')).toEqual(['b', 'd', 'e']);
      expect(await listed(bed, 'x', 'due')).toEqual(['d', 'e']);
      expect(await listed(bed, 'x', 'in-flight')).toEqual(['c']);
    });

    it('list blocked messages of an ordered topic as scheduled, but not as due', async ({ bed }) => {
      bed.order = 'continue';
      await bed.publish('k', { tags: ['x'] });
      await bed.publish('a\0k', { tags: ['x'] });

      expect(await listed(bed, 'x')).toEqual(['a\0k', 'k']);
      expect(await listed(bed, 'x', 'due')).toEqual(['k']);
    });

    it('list page by page, though others come and go', async ({ bed }) => {
      const ids = Array.from({ length: 30 }, (_, i) => `id-${String(i).padStart(2, '0')}`);
      await bed.publishAll(ids.map((id) => message(id, { ...LATER, tags: ['x'] })));
      const found: string[] = [];
      let after;
      do {
        const request = { state: 'scheduled', tag: 'x', limit: 7, maxBytes: 1_000_000, after } as const;
        const page = await bed.broker.messages.peek(bed.partition, request);
        found.push(...page.messages.map(({ storedId }) => storedId));
        after = page.next;
        await bed.cancel(found.at(-1) as string);
        await bed.publish(`before-${found.length}`, { ...LATER, tags: ['x'] });
      } while (after);

      expect(found).toEqual(ids);
    });

    it('are gone with their message', async ({ bed }) => {
      await bed.publish('acked', { tags: ['x'] });
      await bed.settle(await bed.claimOne(), ACK);
      await bed.publish('cancelled', { ...LATER, tags: ['x'] });
      await bed.cancel('cancelled');
      await bed.publish('dead', { tags: ['x'] });
      await bed.settle(await bed.claimOne(), DEAD);
      await bed.broker.deadLetters.trimDead(bed.partition, { maxCount: 0 });
      await bed.publish('drained', { ...LATER, tags: ['x'] });
      await bed.broker.messages.clear(bed.partition, bed.nextCall(), 'scheduled');

      for (const id of ['acked', 'cancelled', 'dead', 'drained']) await bed.publish(id, LATER);
      expect(await listed(bed, 'x')).toEqual([]);
      expect(await cancelAll(bed, 'x')).toMatchObject({ cancelled: 0, inFlight: 0 });
    });

    it('are those of the message that has replaced another one', async ({ bed }) => {
      await bed.publish('a', { ...LATER, tags: ['x', 'both'] });
      await bed.publish('a', { ...LATER, tags: ['y', 'both'], onDuplicate: 'replace' });
      expect([await listed(bed, 'x'), await listed(bed, 'both'), await listed(bed, 'y')]).toEqual([[], ['a'], ['a']]);

      await bed.publish('a', { onDuplicate: 'replace' });
      expect([await listed(bed, 'both'), await listed(bed, 'y')]).toEqual([[], []]);
      const claimed = await bed.claimOne();
      await bed.publish('a', { ...LATER, tags: ['z'], onDuplicate: 'replace' });
      expect(await listed(bed, 'z', 'in-flight')).toEqual(['a']);
      await bed.settle(claimed, RETRY);
      expect(await listed(bed, 'z')).toEqual(['a']);
      expect(await cancelAll(bed, 'z')).toMatchObject({ cancelled: 1 });
    });

    it('stay as they are if a publish leaves the message as it is', async ({ bed }) => {
      await bed.publish('a', { ...LATER, tags: ['x'] });
      await bed.publish('a', { ...LATER, tags: ['y'] });
      await bed.publish('a', { ...LATER, tags: ['y'], onDuplicate: 'ignore' });

      expect([await listed(bed, 'x'), await listed(bed, 'y')]).toEqual([['a'], []]);
    });

    it('stay when a message is edited, moved, retried, dead and requeued', async ({ bed }) => {
      await bed.publish('a', { tags: ['x'], envelope: '[1,1]' });
      const edit = { storedId: 'a', expected: '[1,1]', envelope: '[1,2]' };
      await bed.broker.messages.edit(bed.partition, bed.nextCall(), edit);
      expect(await listed(bed, 'x')).toEqual(['a']);
      await bed.settle(await bed.claimOne(), RETRY);
      await bed.reschedule('a', { at: 5 });
      expect(await listed(bed, 'x')).toEqual(['a']);
      await bed.settle(await bed.claimOne(), DEAD);
      expect(await listed(bed, 'x', 'dead')).toEqual(['a']);
      const requeue = { ...(await deathOf(bed, 'a')), envelope: '[1,3]' };
      await bed.broker.deadLetters.requeueDead(bed.partition, bed.nextCall(), [requeue], LONG);
      expect(await listed(bed, 'x')).toEqual(['a']);
    });

    it('do not find what has ended and is kept', async ({ bed }) => {
      bed.finished = { maxAge: LONG };
      await bed.publish('a', { tags: ['x'] });
      await bed.settle(await bed.claimOne(), ACK);
      await bed.publish('b', { ...LATER, tags: ['x'] });

      expect(await cancelAll(bed, 'x')).toMatchObject({ cancelled: 1, inFlight: 0 });
      expect(await bed.get('a')).toMatchObject({ ending: { outcome: 'acked' } });
      expect(await bed.get('b')).toMatchObject({ ending: { outcome: 'cancelled' } });
    });
  });

  describe('cancelTagged', () => {
    it('cancels what waits, marks what is in flight, and leaves dead letters and others', async ({ bed }) => {
      const ids = ['dead', 'flying', 'retried', 'waiting'];
      await bed.publishAll(ids.map((id, i) => message(id, { tags: ['x', 'y'], due: { at: 1000 + i } })));
      await bed.publish('other', { ...LATER, tags: ['y'] });
      await bed.settle(await bed.claimOne(), DEAD);
      const flying = await bed.claimOne();
      await bed.settle(await bed.claimOne(), RETRY_LATER);
      await bed.earlierSignalsArrived();
      const signals = new Received<PartitionSignal>();
      bed.broker.watchPartition(bed.partition, signals.listener);
      await bed.broker.link.listen();

      expect(await bed.cancelTagged('x')).toEqual({ cancelled: 2, inFlight: 1, next: undefined });

      expect(await signals.atLeast(1)).toEqual([{ kind: 'cancelled', storedId: 'flying', token: flying.token }]);
      expect(await bed.stats()).toMatchObject({ scheduled: 1, inFlight: 1, dead: 1, counters: { cancelled: 2 } });
      expect(await bed.settle(flying, RETRY)).toBe('cancelled');
      expect(await cancelAll(bed, 'x')).toMatchObject({ cancelled: 0, inFlight: 0 });
      expect(await listed(bed, 'y')).toEqual(['other']);
      expect(await listed(bed, 'x', 'dead')).toEqual(['dead']);
    });

    it('goes on in steps, past what stays', async ({ bed }) => {
      await bed.publishAll(half('a').map((id) => message(id, { tags: ['x'] })));
      await bed.claim();
      await bed.publishAll(half('b').map((id) => message(id, { ...LATER, tags: ['x'] })));

      expect(await cancelAll(bed, 'x')).toEqual({ cancelled: 130, inFlight: 130, calls: 3 });
      expect(await cancelAll(bed, 'x')).toEqual({ cancelled: 0, inFlight: 130, calls: 2 });
    });

    it('does the same once if it is repeated', async ({ bed }) => {
      await bed.publish('a', { ...LATER, tags: ['x'] });
      const call = { caller: 'repeating', sequence: 1 };
      const first = await bed.cancelTagged('x', undefined, call);
      await bed.publish('b', { ...LATER, tags: ['x'] });

      expect(await bed.cancelTagged('x', undefined, call)).toEqual(first);
      expect(await listed(bed, 'x')).toEqual(['b']);
      expect((await bed.stats()).counters.cancelled).toBe(1);
    });

    it('frees the keys of an ordered topic', async ({ bed }) => {
      bed.order = 'continue';
      await bed.publish('k', { tags: ['x'], due: { after: LONG } });
      await bed.publish('a\0k', { due: { after: 2 * LONG } });
      await bed.publish('b\0k', { tags: ['x'], due: { after: 3 * LONG } });

      expect(await cancelAll(bed, 'x')).toMatchObject({ cancelled: 2 });
      expect(await bed.stats()).toMatchObject({ scheduled: 1, blocked: 0 });
      expect(await bed.get('a\0k')).not.toHaveProperty('blockedBy');
    });

    it('finds nothing where nothing is', async ({ bed }) => {
      expect(await bed.cancelTagged('x')).toEqual({ cancelled: 0, inFlight: 0, next: undefined });
    });
  });
}
