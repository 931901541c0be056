import { describe, expect } from 'vitest';
import { PROTOCOL_VERSION } from '../../lib/broker/broker.interface.js';
import { type BrokerBed, type BrokerTest, LONG, message } from '../support/broker/broker-bed.js';
import { Received } from '../support/broker/received.js';

const NOBODY: readonly number[] = [];

async function memberIds(bed: BrokerBed, as: string): Promise<string[]> {
  const members = await bed.broker.join(bed.partition.topic, as, LONG, NOBODY);
  return members.map(({ id }) => id);
}

export function groupContract(it: BrokerTest): void {
  describe('configure', () => {
    it('fixes the number of partitions at the first use of a topic', async ({ bed }) => {
      const { topic } = bed.partition;

      expect(await bed.broker.configure(topic, 16)).toEqual({ partitions: 16, protocol: PROTOCOL_VERSION });
      expect(await bed.broker.configure(topic, 8)).toEqual({ partitions: 16, protocol: PROTOCOL_VERSION });
      expect(await bed.broker.configure(`${topic}.other`, 8)).toMatchObject({ partitions: 8 });
    });

    it('does so too where members have joined before', async ({ bed }) => {
      const { topic } = bed.partition;
      await bed.broker.join(topic, 'm', LONG, NOBODY);

      expect(await bed.broker.configure(topic, 16)).toMatchObject({ partitions: 16 });
    });
  });

  describe('join', () => {
    it('answers all members with what they hold, sorted by id', async ({ bed }) => {
      const { topic } = bed.partition;
      await bed.broker.join(topic, 'b', LONG, [3, 1]);
      await bed.broker.join(topic, 'c', LONG, [2]);
      const before = await bed.time();
      const members = await bed.broker.join(topic, 'a', LONG, []);
      const after = await bed.time();

      expect(members.map(({ id, holdings }) => [id, holdings])).toEqual([
        ['a', []],
        ['b', [3, 1]],
        ['c', [2]],
      ]);
      expect(members[0]?.expiresAt).toBeGreaterThan(before + LONG - 1);
      expect(members[0]?.expiresAt).toBeLessThanOrEqual(after + LONG);
    });

    it('again: prolongs the session and tells the new holdings', async ({ bed }) => {
      const { topic } = bed.partition;
      await bed.broker.join(topic, 'a', 20, [1]);
      await bed.broker.join(topic, 'a', LONG, [2]);
      await bed.advance(20);

      expect(await bed.broker.join(topic, 'b', LONG, [])).toMatchObject([{ id: 'a', holdings: [2] }, { id: 'b' }]);
    });

    it('leaves out members whose session has ended', async ({ bed }) => {
      await bed.broker.join(bed.partition.topic, 'dead', 5, [1]);
      expect(await memberIds(bed, 'alive')).toContain('alive');
      await bed.advance(5);

      expect(await memberIds(bed, 'alive')).toEqual(['alive']);
    });

    it('takes a member back whose session had ended', async ({ bed }) => {
      const { topic } = bed.partition;
      await bed.broker.join(topic, 'a', 5, [1]);
      await bed.advance(5);

      expect(await bed.broker.join(topic, 'a', LONG, [1])).toMatchObject([{ id: 'a', holdings: [1] }]);
    });

    it('keeps the groups of topics apart', async ({ bed }) => {
      await bed.broker.join(`${bed.partition.topic}.other`, 'b', LONG, []);

      expect(await memberIds(bed, 'a')).toEqual(['a']);
    });

    it('takes a large group', async ({ bed }) => {
      const ids = Array.from({ length: 50 }, (_, i) => `m-${String(i).padStart(2, '0')}`);
      for (const id of ids) await bed.broker.join(bed.partition.topic, id, LONG, []);

      expect(await memberIds(bed, 'm-00')).toEqual(ids);
    });
  });

  describe('leave', () => {
    it('removes the member and its holdings', async ({ bed }) => {
      const { topic } = bed.partition;
      await bed.broker.join(topic, 'a', LONG, [1]);
      await bed.broker.leave(topic, 'a');

      expect(await memberIds(bed, 'b')).toEqual(['b']);
      expect(await bed.broker.join(topic, 'a', LONG, [])).toMatchObject([{ id: 'a', holdings: [] }, { id: 'b' }]);
    });

    it('does nothing for somebody who is no member', async ({ bed }) => {
      await bed.broker.join(bed.partition.topic, 'a', LONG, []);
      await bed.broker.leave(bed.partition.topic, 'stranger');

      expect(await memberIds(bed, 'a')).toEqual(['a']);
    });
  });

  describe('hasMembers', () => {
    it('says whether a member lives', async ({ bed }) => {
      const { topic } = bed.partition;
      expect(await bed.broker.hasMembers(topic)).toBe(false);
      await bed.broker.join(topic, 'a', LONG, []);
      await bed.broker.join(topic, 'b', 5, [1]);
      await bed.broker.join(`${topic}.other`, 'c', LONG, []);

      expect(await bed.broker.hasMembers(topic)).toBe(true);
      await bed.broker.leave(topic, 'a');
      await bed.advance(10);
      expect(await bed.broker.hasMembers(topic)).toBe(false);
      expect(await bed.broker.hasMembers(`${topic}.other`)).toBe(true);
    });
  });

  describe('watchMembers', () => {
    it('tells of members that come, go, or change what they hold, and of nothing else', async ({ bed }) => {
      const { topic } = bed.partition;
      const { broker } = bed;
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
        await bed.signalsArrived();
        expect(received.all.length - before).toBe(changes);
      }
    });

    it('tells when a heartbeat finds that another member has died', async ({ bed }) => {
      const { topic } = bed.partition;
      const received = new Received<void>();
      bed.broker.watchMembers(topic, () => received.listener());
      await bed.broker.link.listen();
      await bed.broker.join(topic, 'a', LONG, []);
      await bed.broker.join(topic, 'dead', 5, []);
      await received.atLeast(2);
      await bed.advance(5);
      await bed.broker.join(topic, 'a', LONG, []);
      await received.atLeast(3);
      await bed.signalsArrived();

      expect(received.all).toHaveLength(3);
    });

    it('ends when unsubscribed', async ({ bed }) => {
      const { topic } = bed.partition;
      const gone = new Received<void>();
      const staying = new Received<void>();
      const unsubscribe = bed.broker.watchMembers(topic, () => gone.listener());
      bed.broker.watchMembers(topic, () => staying.listener());
      await bed.broker.link.listen();
      await unsubscribe();
      await bed.broker.join(topic, 'a', LONG, []);
      await staying.atLeast(1);
      await bed.signalsArrived();

      expect(staying.all).toHaveLength(1);
      expect(gone.all).toEqual([]);
    });
  });

  describe('acquire', () => {
    it('makes the first one the owner and tells the rest when to come again', async ({ bed }) => {
      const partition = { ...bed.partition, index: 1 };
      const before = await bed.time();
      expect(await bed.broker.acquire(partition, 'a', LONG)).toEqual({ acquired: true, token: 0 });

      const refused = await bed.broker.acquire(partition, 'b', LONG);

      if (refused.acquired) throw new Error('the partition has an owner');
      expect(refused.retryAt).toBeGreaterThan(before + LONG - 2);
      expect(refused.retryAt).toBeLessThanOrEqual((await bed.time()) + LONG);
      expect((await bed.broker.stats(partition)).owner).toBe('a');
    });

    it('gives the partition to somebody else when the session has ended', async ({ bed }) => {
      const partition = { ...bed.partition, index: 1 };
      await bed.broker.acquire(partition, 'a', 5);
      await bed.advance(6);

      expect(await bed.broker.acquire(partition, 'b', LONG)).toMatchObject({ acquired: true });
      expect((await bed.broker.stats(partition)).owner).toBe('b');
    });

    it('again by the owner: prolongs its session', async ({ bed }) => {
      const partition = { ...bed.partition, index: 1 };
      await bed.broker.acquire(partition, 'a', 5);
      expect(await bed.broker.acquire(partition, 'a', LONG)).toMatchObject({ acquired: true });
      await bed.advance(6);

      expect(await bed.broker.acquire(partition, 'b', LONG)).toMatchObject({ acquired: false });
    });

    it("answers the partition's highest token", async ({ bed }) => {
      await bed.deliver('a');
      await bed.deliver('b');

      expect(await bed.broker.acquire(bed.partition, bed.owner, LONG)).toEqual({ acquired: true, token: 2 });
    });

    it('gives each partition an owner of its own', async ({ bed }) => {
      for (const [index, member] of ['a', 'b', 'c'].entries()) {
        const partition = { ...bed.partition, topic: `${bed.partition.topic}.shared`, index };
        expect(await bed.broker.acquire(partition, member, LONG)).toMatchObject({ acquired: true });
      }
    });
  });

  describe('renew', () => {
    it('prolongs the session of the owner', async ({ bed }) => {
      const partition = { ...bed.partition, index: 1 };
      // Long enough to be renewed in time on a busy machine.
      await bed.broker.acquire(partition, 'a', 250);
      expect(await bed.broker.renew(partition, 'a', LONG)).toEqual({ owned: true, nextDueAt: undefined });
      await bed.advance(251);

      expect(await bed.broker.acquire(partition, 'b', LONG)).toMatchObject({ acquired: false });
    });

    it('tells when the next message is due', async ({ bed }) => {
      await bed.publishAll([message('a', { due: { at: 700 } }), message('b', { due: { at: 300 } })]);

      expect(await bed.broker.renew(bed.partition, bed.owner, LONG)).toEqual({ owned: true, nextDueAt: 300 });
    });

    it('does not make an owner of somebody who is none', async ({ bed }) => {
      const free = { ...bed.partition, index: 1 };

      expect(await bed.broker.renew(bed.partition, 'b', LONG)).toMatchObject({ owned: false });
      expect(await bed.broker.renew(free, 'b', LONG)).toMatchObject({ owned: false });
      expect((await bed.broker.stats(bed.partition)).owner).toBe(bed.owner);
      expect((await bed.broker.stats(free)).owner).toBeUndefined();
    });

    it('does not bring back a session that has ended', async ({ bed }) => {
      const partition = { ...bed.partition, index: 1 };
      await bed.broker.acquire(partition, 'a', 5);
      await bed.advance(6);

      expect(await bed.broker.renew(partition, 'a', LONG)).toMatchObject({ owned: false });
      expect(await bed.broker.acquire(partition, 'b', LONG)).toMatchObject({ acquired: true });
    });
  });

  describe('release', () => {
    it('frees the partition for the next one', async ({ bed }) => {
      await bed.broker.release(bed.partition, bed.owner);

      expect((await bed.broker.stats(bed.partition)).owner).toBeUndefined();
      expect(await bed.broker.acquire(bed.partition, 'heir', LONG)).toMatchObject({ acquired: true });
    });

    it('does nothing for somebody who does not own it', async ({ bed }) => {
      await bed.broker.release(bed.partition, 'stranger');
      await bed.broker.release({ ...bed.partition, index: 1 }, 'stranger');

      expect((await bed.broker.stats(bed.partition)).owner).toBe(bed.owner);
    });
  });
}
