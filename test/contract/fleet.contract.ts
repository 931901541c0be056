import { describe, expect } from 'vitest';
import { ownerOf } from '../../lib/store/fleet/owner.js';
import type { Heartbeat } from '../../lib/store/fleet/sessions.js';
import type { SessionSignal } from '../../lib/store/fleet/signals.js';
import { type BrokerBed, type BrokerTest, LONG } from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';

function heartbeatOf(session: string, count = 1, fields: Partial<Heartbeat> = {}): Heartbeat {
  return { session, count, length: LONG, digest: 'none', ...fields };
}

async function watch(bed: BrokerBed, session: string): Promise<Received<SessionSignal>> {
  const received = new Received<SessionSignal>();
  bed.broker.watchSession(session, received.listener);
  await bed.broker.link.listen();
  return received;
}

export function fleetContract(it: BrokerTest): void {
  describe('heartbeat', () => {
    it('answers all sessions as they were told, sorted by name', async ({ bed }) => {
      await bed.broker.fleet.heartbeat(heartbeatOf('b', 7, { length: 5000, digest: 'd1' }));
      const before = await bed.time();
      const { sessions } = await bed.broker.fleet.heartbeat(heartbeatOf('a', 1, { digest: 'd2' }));
      const after = await bed.time();

      expect(sessions).toEqual([
        { session: 'a', count: 1, at: expect.any(Number) as number, length: LONG, digest: 'd2', left: false },
        { session: 'b', count: 7, at: expect.any(Number) as number, length: 5000, digest: 'd1', left: false },
      ]);
      // The process estimates the clock of the broker, and rounds.
      expect(sessions[0]?.at).toBeGreaterThan(before - 100);
      expect(sessions[0]?.at).toBeLessThan(after + 100);
    });

    it('takes the place of the one before', async ({ bed }) => {
      await bed.broker.fleet.heartbeat(heartbeatOf('a', 1));
      const { sessions } = await bed.broker.fleet.heartbeat(heartbeatOf('a', 2, { digest: 'other' }));

      expect(sessions).toMatchObject([{ session: 'a', count: 2, digest: 'other' }]);
    });

    it('says whether the session was not there', async ({ bed }) => {
      expect(await bed.broker.fleet.heartbeat(heartbeatOf('a', 1))).toMatchObject({ isNew: true });
      expect(await bed.broker.fleet.heartbeat(heartbeatOf('b', 1))).toMatchObject({ isNew: true });
      expect(await bed.broker.fleet.heartbeat(heartbeatOf('a', 2))).toMatchObject({ isNew: false });
      await bed.broker.fleet.forget(['a']);
      expect(await bed.broker.fleet.heartbeat(heartbeatOf('a', 3))).toMatchObject({ isNew: true });
    });

    it('keeps a session that has not sent another one: others find out whether it lives', async ({ bed }) => {
      await bed.broker.fleet.heartbeat(heartbeatOf('silent', 1, { length: 5 }));
      await bed.advance(20);

      expect(await bed.broker.fleet.sessions()).toMatchObject([{ session: 'silent', left: false }]);
    });

    it('takes a large fleet', async ({ bed }) => {
      const names = Array.from({ length: 200 }, (_, i) => `host:${i}:0198c0de`);
      await Promise.all(names.map(async (name) => bed.broker.fleet.heartbeat(heartbeatOf(name))));
      const { sessions } = await bed.broker.fleet.heartbeat(heartbeatOf(names[0] as string, 2));

      expect(sessions.map(({ session }) => session)).toEqual(names.toSorted());
    });
  });

  describe('leave', () => {
    it('is shown until somebody forgets the session', async ({ bed }) => {
      await bed.broker.fleet.heartbeat(heartbeatOf('a', 1));
      await bed.broker.fleet.heartbeat(heartbeatOf('b', 1));
      await bed.broker.fleet.leave(heartbeatOf('a', 2));

      expect(await bed.broker.fleet.sessions()).toMatchObject([
        { session: 'a', count: 2, left: true },
        { session: 'b', left: false },
      ]);
    });
  });

  describe('forget', () => {
    it('removes these sessions and no other, however often', async ({ bed }) => {
      for (const name of ['a', 'b', 'c']) await bed.broker.fleet.heartbeat(heartbeatOf(name));
      await bed.broker.fleet.forget(['a', 'c', 'unknown']);
      await bed.broker.fleet.forget(['a', 'c', 'unknown']);

      expect(await bed.broker.fleet.sessions()).toMatchObject([{ session: 'b' }]);
    });

    it('removes the lists of topics that no session names any more', async ({ bed }) => {
      const digests = ['shared', 'old', 'left'];
      for (const digest of digests) await bed.broker.fleet.rememberTopics({ digest, topics: [digest] });
      await bed.broker.fleet.heartbeat(heartbeatOf('a', 1, { digest: 'shared' }));
      await bed.broker.fleet.heartbeat(heartbeatOf('b', 1, { digest: 'shared' }));
      await bed.broker.fleet.heartbeat(heartbeatOf('c', 1, { digest: 'left' }));
      await bed.broker.fleet.leave(heartbeatOf('c', 2, { digest: 'left' }));
      await bed.broker.fleet.forget(['a']);

      expect(await bed.broker.fleet.rememberedTopics(digests)).toEqual([['shared'], undefined, ['left']]);
      await bed.broker.fleet.forget(['b', 'c']);
      expect(await bed.broker.fleet.rememberedTopics(digests)).toEqual([undefined, undefined, undefined]);
    });

    it('takes none, and more than a call has room for', async ({ bed }) => {
      await bed.broker.fleet.heartbeat(heartbeatOf('a'));
      await bed.broker.fleet.heartbeat(heartbeatOf('z'));
      await bed.broker.fleet.forget([]);
      expect(await bed.broker.fleet.sessions()).toHaveLength(2);

      await bed.broker.fleet.forget([...Array.from({ length: 2500 }, (_, i) => `unknown-${i}`), 'z']);
      expect(await bed.broker.fleet.sessions()).toMatchObject([{ session: 'a' }]);
    });
  });

  describe('rememberedTopics', () => {
    it('answers the lists in the order of their digests', async ({ bed }) => {
      await bed.broker.fleet.rememberTopics({ digest: 'x', topics: ['b', 'a'] });
      await bed.broker.fleet.rememberTopics({ digest: 'y', topics: [] });

      expect(await bed.broker.fleet.rememberedTopics(['y', 'z', 'x', 'y'])).toEqual([[], undefined, ['b', 'a'], []]);
      expect(await bed.broker.fleet.rememberedTopics([])).toEqual([]);
    });
  });

  describe('watchSession', () => {
    it('tells what is for the session or for all, and nothing else', async ({ bed }) => {
      const received = await watch(bed, 'a');
      const partition = { topic: 'eu:orders', index: 1023 };
      const wanted: SessionSignal = { kind: 'wanted', partition, owner: 'any "text" \u{1F600}' };
      const signals: readonly SessionSignal[] = [
        { kind: 'released', partitions: [{ topic: 'eu:orders', index: 0 }, partition] },
        { kind: 'released', partitions: [] },
        wanted,
        { kind: 'echo', count: 0 },
        { kind: 'echo', count: 12_345_678 },
      ];
      await bed.broker.fleet.tell({ to: 'b', signal: { kind: 'released', partitions: [] } });
      for (const signal of signals) await bed.broker.fleet.tell({ to: 'a', signal });
      await received.atLeast(signals.length);
      await bed.broker.fleet.tell({ signal: { kind: 'changed' } });
      await received.atLeast(signals.length + 1);
      await bed.signalsArrived();

      expect(received.all).toEqual([...signals, { kind: 'changed' }]);
    });

    it('ends when unsubscribed', async ({ bed }) => {
      const gone = new Received<SessionSignal>();
      const unsubscribe = bed.broker.watchSession('a', gone.listener);
      const staying = await watch(bed, 'a');
      await unsubscribe();
      await bed.broker.fleet.tell({ to: 'a', signal: { kind: 'released', partitions: [] } });
      await bed.broker.fleet.tell({ signal: { kind: 'changed' } });
      await staying.atLeast(2);
      await bed.signalsArrived();

      expect(staying.all).toHaveLength(2);
      expect(gone.all).toEqual([]);
    });
  });

  describe('acquire', () => {
    const [first, second, third] = [ownerOf('1a', 'a'), ownerOf('2b', 'b'), ownerOf('3c', 'c')];

    it('makes an owner if there is none, and tells others who it is', async ({ bed }) => {
      const partition = { ...bed.partition, index: 1 };
      expect(await bed.broker.fleet.acquire(partition, first, undefined)).toEqual({ acquired: true });

      expect(await bed.broker.fleet.acquire(partition, second, undefined)).toEqual({ acquired: false, owner: first });
      expect(await bed.broker.fleet.acquire(partition, second, third)).toEqual({ acquired: false, owner: first });
      expect((await bed.broker.messages.stats(partition)).owner).toBe('a');
    });

    it('replaces exactly the owner that was seen', async ({ bed }) => {
      const partition = { ...bed.partition, index: 1 };
      await bed.broker.fleet.acquire(partition, first, undefined);
      expect(await bed.broker.fleet.acquire(partition, second, first)).toEqual({ acquired: true });

      expect(await bed.broker.fleet.acquire(partition, third, first)).toEqual({ acquired: false, owner: second });
      expect((await bed.broker.messages.stats(partition)).owner).toBe('b');
    });

    it('may be repeated, and a late copy of it changes nothing', async ({ bed }) => {
      const partition = { ...bed.partition, index: 1 };
      await bed.broker.fleet.acquire(partition, first, undefined);
      expect(await bed.broker.fleet.acquire(partition, first, undefined)).toEqual({ acquired: true });
      await bed.broker.fleet.acquire(partition, second, first);
      expect(await bed.broker.fleet.acquire(partition, second, first)).toEqual({ acquired: true });

      expect(await bed.broker.fleet.acquire(partition, first, undefined)).toEqual({ acquired: false, owner: second });
      await bed.broker.fleet.release(partition, second);
      expect(await bed.broker.fleet.acquire(partition, second, first)).toEqual({ acquired: false, owner: '2b' });
      expect((await bed.broker.messages.stats(partition)).owner).toBeUndefined();
    });

    it('does not replace what is not there', async ({ bed }) => {
      const partition = { ...bed.partition, index: 1 };

      expect(await bed.broker.fleet.acquire(partition, second, first)).toEqual({ acquired: false, owner: undefined });
      expect((await bed.broker.messages.stats(partition)).owner).toBeUndefined();
    });

    it('gives each partition an owner of its own', async ({ bed }) => {
      for (const [index, owner] of [first, second, third].entries()) {
        const partition = { ...bed.partition, topic: `${bed.partition.topic}.shared`, index };
        expect(await bed.broker.fleet.acquire(partition, owner, undefined)).toEqual({ acquired: true });
      }
    });
  });

  describe('release', () => {
    const heir = ownerOf('77', 'heir');

    it('leaves the epoch, which the next owner replaces', async ({ bed }) => {
      const [epoch = ''] = bed.owner.split(' ');
      await bed.broker.fleet.release(bed.partition, bed.owner);

      expect((await bed.stats()).owner).toBeUndefined();
      expect(await bed.broker.fleet.acquire(bed.partition, heir, undefined)).toEqual({ acquired: false, owner: epoch });
      expect(await bed.broker.fleet.acquire(bed.partition, heir, epoch)).toEqual({ acquired: true });
    });

    it('does nothing if another owner is stored, or the same session in another epoch', async ({ bed }) => {
      await bed.broker.fleet.release(bed.partition, ownerOf('77', 'stranger'));
      await bed.broker.fleet.release(bed.partition, ownerOf('77', 'owner'));
      await bed.broker.fleet.release({ ...bed.partition, index: 1 }, heir);

      expect((await bed.stats()).owner).toBe('owner');
      expect(await bed.broker.fleet.acquire({ ...bed.partition, index: 1 }, heir, undefined)).toEqual({
        acquired: true,
      });
    });
  });
}
