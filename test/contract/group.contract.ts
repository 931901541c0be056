import { describe, expect } from 'vitest';
import { PROTOCOL_VERSION } from '../../lib/broker/broker.interface.js';
import { type Bench, type BrokerTest, LONG, message } from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';

const NOBODY: readonly number[] = [];

async function memberIds(bench: Bench, as: string): Promise<string[]> {
  const members = await bench.broker.join(bench.partition.topic, as, LONG, NOBODY);
  return members.map(({ id }) => id);
}

export function groupContract(it: BrokerTest): void {
  describe('configure', () => {
    it('fixes the number of partitions at the first use of a topic', async ({ bench }) => {
      const { topic } = bench.partition;

      expect(await bench.broker.configure(topic, 16)).toEqual({ partitions: 16, protocol: PROTOCOL_VERSION });
      expect(await bench.broker.configure(topic, 8)).toEqual({ partitions: 16, protocol: PROTOCOL_VERSION });
      expect(await bench.broker.configure(`${topic}.other`, 8)).toMatchObject({ partitions: 8 });
    });

    it('does so too where members have joined before', async ({ bench }) => {
      const { topic } = bench.partition;
      await bench.broker.join(topic, 'm', LONG, NOBODY);

      expect(await bench.broker.configure(topic, 16)).toMatchObject({ partitions: 16 });
    });
  });

  describe('join', () => {
    it('answers all members with what they hold, sorted by id', async ({ bench }) => {
      const { topic } = bench.partition;
      await bench.broker.join(topic, 'b', LONG, [3, 1]);
      await bench.broker.join(topic, 'c', LONG, [2]);
      const before = await bench.time();
      const members = await bench.broker.join(topic, 'a', LONG, []);
      const after = await bench.time();

      expect(members.map(({ id, holdings }) => [id, holdings])).toEqual([
        ['a', []],
        ['b', [3, 1]],
        ['c', [2]],
      ]);
      expect(members[0]?.expiresAt).toBeGreaterThan(before + LONG - 1);
      expect(members[0]?.expiresAt).toBeLessThanOrEqual(after + LONG);
    });

    it('again: prolongs the session and tells the new holdings', async ({ bench }) => {
      const { topic } = bench.partition;
      await bench.broker.join(topic, 'a', 20, [1]);
      await bench.broker.join(topic, 'a', LONG, [2]);
      await bench.advance(20);

      expect(await bench.broker.join(topic, 'b', LONG, [])).toMatchObject([{ id: 'a', holdings: [2] }, { id: 'b' }]);
    });

    it('leaves out members whose session has ended', async ({ bench }) => {
      await bench.broker.join(bench.partition.topic, 'dead', 5, [1]);
      expect(await memberIds(bench, 'alive')).toContain('alive');
      await bench.advance(5);

      expect(await memberIds(bench, 'alive')).toEqual(['alive']);
    });

    it('takes a member back whose session had ended', async ({ bench }) => {
      const { topic } = bench.partition;
      await bench.broker.join(topic, 'a', 5, [1]);
      await bench.advance(5);

      expect(await bench.broker.join(topic, 'a', LONG, [1])).toMatchObject([{ id: 'a', holdings: [1] }]);
    });

    it('keeps the groups of topics apart', async ({ bench }) => {
      await bench.broker.join(`${bench.partition.topic}.other`, 'b', LONG, []);

      expect(await memberIds(bench, 'a')).toEqual(['a']);
    });

    it('takes a large group', async ({ bench }) => {
      const ids = Array.from({ length: 50 }, (_, i) => `m-${String(i).padStart(2, '0')}`);
      for (const id of ids) await bench.broker.join(bench.partition.topic, id, LONG, []);

      expect(await memberIds(bench, 'm-00')).toEqual(ids);
    });
  });

  describe('leave', () => {
    it('removes the member and its holdings', async ({ bench }) => {
      const { topic } = bench.partition;
      await bench.broker.join(topic, 'a', LONG, [1]);
      await bench.broker.leave(topic, 'a');

      expect(await memberIds(bench, 'b')).toEqual(['b']);
      expect(await bench.broker.join(topic, 'a', LONG, [])).toMatchObject([{ id: 'a', holdings: [] }, { id: 'b' }]);
    });

    it('does nothing for somebody who is no member', async ({ bench }) => {
      await bench.broker.join(bench.partition.topic, 'a', LONG, []);
      await bench.broker.leave(bench.partition.topic, 'stranger');

      expect(await memberIds(bench, 'a')).toEqual(['a']);
    });
  });

  describe('hasMembers', () => {
    it('says whether a member lives', async ({ bench }) => {
      const { topic } = bench.partition;
      expect(await bench.broker.hasMembers(topic)).toBe(false);
      await bench.broker.join(topic, 'a', LONG, []);
      await bench.broker.join(topic, 'b', 5, [1]);
      await bench.broker.join(`${topic}.other`, 'c', LONG, []);

      expect(await bench.broker.hasMembers(topic)).toBe(true);
      await bench.broker.leave(topic, 'a');
      await bench.advance(10);
      expect(await bench.broker.hasMembers(topic)).toBe(false);
      expect(await bench.broker.hasMembers(`${topic}.other`)).toBe(true);
    });
  });

  describe('watchMembers', () => {
    it('tells of members that come, go, or change what they hold, and of nothing else', async ({ bench }) => {
      const { topic } = bench.partition;
      const { broker } = bench;
      const received = new Received<void>();
      broker.watchMembers(topic, () => received.listener());
      await broker.link.listen();

      const steps: readonly (readonly [changes: number, step: () => Promise<unknown>])[] = [
        [1, () => broker.join(topic, 'a', LONG, [])],
        [0, () => broker.join(topic, 'a', LONG, [])],
        [1, () => broker.join(topic, 'a', LONG, [1])],
        [0, () => broker.join(topic, 'a', LONG, [1])],
        [0, () => broker.join(`${topic}.other`, 'a', LONG, [])],
        [1, () => broker.leave(topic, 'a')],
        [0, () => broker.leave(topic, 'a')],
        [1, () => broker.join(topic, 'a', LONG, [])],
      ];
      for (const [changes, step] of steps) {
        const before = received.all.length;
        await step();
        await received.atLeast(before + changes);
        await bench.signalsArrived();
        expect(received.all.length - before).toBe(changes);
      }
    });

    it('tells when a heartbeat finds that another member has died', async ({ bench }) => {
      const { topic } = bench.partition;
      const received = new Received<void>();
      bench.broker.watchMembers(topic, () => received.listener());
      await bench.broker.link.listen();
      await bench.broker.join(topic, 'a', LONG, []);
      await bench.broker.join(topic, 'dead', 5, []);
      await received.atLeast(2);
      await bench.advance(5);
      await bench.broker.join(topic, 'a', LONG, []);
      await received.atLeast(3);
      await bench.signalsArrived();

      expect(received.all).toHaveLength(3);
    });

    it('ends when unsubscribed', async ({ bench }) => {
      const { topic } = bench.partition;
      const gone = new Received<void>();
      const staying = new Received<void>();
      const unsubscribe = bench.broker.watchMembers(topic, () => gone.listener());
      bench.broker.watchMembers(topic, () => staying.listener());
      await bench.broker.link.listen();
      await unsubscribe();
      await bench.broker.join(topic, 'a', LONG, []);
      await staying.atLeast(1);
      await bench.signalsArrived();

      expect(staying.all).toHaveLength(1);
      expect(gone.all).toEqual([]);
    });
  });

  describe('acquire', () => {
    it('makes the first one the owner and tells the rest when to come again', async ({ bench }) => {
      const partition = { ...bench.partition, index: 1 };
      const before = await bench.time();
      expect(await bench.broker.acquire(partition, 'a', LONG)).toEqual({ acquired: true, token: 0 });

      const refused = await bench.broker.acquire(partition, 'b', LONG);

      if (refused.acquired) throw new Error('the partition has an owner');
      expect(refused.retryAt).toBeGreaterThan(before + LONG - 2);
      expect(refused.retryAt).toBeLessThanOrEqual((await bench.time()) + LONG);
      expect((await bench.broker.stats(partition)).owner).toBe('a');
    });

    it('gives the partition to somebody else when the session has ended', async ({ bench }) => {
      const partition = { ...bench.partition, index: 1 };
      await bench.broker.acquire(partition, 'a', 5);
      await bench.advance(6);

      expect(await bench.broker.acquire(partition, 'b', LONG)).toMatchObject({ acquired: true });
      expect((await bench.broker.stats(partition)).owner).toBe('b');
    });

    it('again by the owner: prolongs its session', async ({ bench }) => {
      const partition = { ...bench.partition, index: 1 };
      await bench.broker.acquire(partition, 'a', 5);
      expect(await bench.broker.acquire(partition, 'a', LONG)).toMatchObject({ acquired: true });
      await bench.advance(6);

      expect(await bench.broker.acquire(partition, 'b', LONG)).toMatchObject({ acquired: false });
    });

    it("answers the partition's highest token", async ({ bench }) => {
      await bench.deliver('a');
      await bench.deliver('b');

      expect(await bench.broker.acquire(bench.partition, bench.owner, LONG)).toEqual({ acquired: true, token: 2 });
    });

    it('gives each partition an owner of its own', async ({ bench }) => {
      for (const [index, member] of ['a', 'b', 'c'].entries()) {
        const partition = { ...bench.partition, topic: `${bench.partition.topic}.shared`, index };
        expect(await bench.broker.acquire(partition, member, LONG)).toMatchObject({ acquired: true });
      }
    });
  });

  describe('renew', () => {
    it('prolongs the session of the owner', async ({ bench }) => {
      const partition = { ...bench.partition, index: 1 };
      // Long enough to be renewed in time on a busy machine.
      await bench.broker.acquire(partition, 'a', 250);
      expect(await bench.broker.renew(partition, 'a', LONG)).toEqual({ owned: true, nextDueAt: undefined });
      await bench.advance(251);

      expect(await bench.broker.acquire(partition, 'b', LONG)).toMatchObject({ acquired: false });
    });

    it('tells when the next message is due', async ({ bench }) => {
      await bench.publishAll([message('a', { due: { at: 700 } }), message('b', { due: { at: 300 } })]);

      expect(await bench.broker.renew(bench.partition, bench.owner, LONG)).toEqual({ owned: true, nextDueAt: 300 });
    });

    it('does not make an owner of somebody who is none', async ({ bench }) => {
      const free = { ...bench.partition, index: 1 };

      expect(await bench.broker.renew(bench.partition, 'b', LONG)).toMatchObject({ owned: false });
      expect(await bench.broker.renew(free, 'b', LONG)).toMatchObject({ owned: false });
      expect((await bench.broker.stats(bench.partition)).owner).toBe(bench.owner);
      expect((await bench.broker.stats(free)).owner).toBeUndefined();
    });

    it('does not bring back a session that has ended', async ({ bench }) => {
      const partition = { ...bench.partition, index: 1 };
      await bench.broker.acquire(partition, 'a', 5);
      await bench.advance(6);

      expect(await bench.broker.renew(partition, 'a', LONG)).toMatchObject({ owned: false });
      expect(await bench.broker.acquire(partition, 'b', LONG)).toMatchObject({ acquired: true });
    });
  });

  describe('release', () => {
    it('frees the partition for the next one', async ({ bench }) => {
      await bench.broker.release(bench.partition, bench.owner);

      expect((await bench.broker.stats(bench.partition)).owner).toBeUndefined();
      expect(await bench.broker.acquire(bench.partition, 'heir', LONG)).toMatchObject({ acquired: true });
    });

    it('does nothing for somebody who does not own it', async ({ bench }) => {
      await bench.broker.release(bench.partition, 'stranger');
      await bench.broker.release({ ...bench.partition, index: 1 }, 'stranger');

      expect((await bench.broker.stats(bench.partition)).owner).toBe(bench.owner);
    });
  });
}
