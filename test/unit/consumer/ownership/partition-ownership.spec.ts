import { describe, expect, it } from 'vitest';
import type { BrokerCall } from '../../../../lib/store/wrap-broker.js';
import { TopicConsumer } from '../../../../lib/consumer/ownership/topic-consumer.js';
import { assignPartitions } from '../../../../lib/fleet/assign-partitions.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import type { TestProcess } from '../../../support/units/fleet-bed.js';
import { HEARTBEAT } from '../../../support/units/handling.js';
import { PARTITION, seenPartition } from '../../../support/units/seen-partition.js';
import { Gate } from '../../../support/waiting.js';

const THEIRS = 'theirs other';
const LENGTH = 2 * HEARTBEAT;

/** As whom a process has asked for the partition, and whom it wanted to replace. */
function asked({ calls }: TestProcess): (readonly [owner: string, replaced: string | undefined])[] {
  return calls.flatMap((call) => (call.operation === 'acquire' ? [[call.args[1], call.args[2]] as const] : []));
}

/** Does something in the place of the calls of an operation. */
function instead(operation: BrokerCall['operation'], does: (call: BrokerCall) => Promise<unknown>) {
  return async (call: BrokerCall): Promise<unknown> => (call.operation === operation ? does(call) : call.run());
}

const GONE = new BrokerUnavailableError('gone');
const passOn = async ({ run }: BrokerCall): Promise<unknown> => run();

describe('PartitionOwnership', () => {
  it('takes a partition that is free, and claims from it', async () => {
    const { me, ownership, changes, stored, settle } = await seenPartition();
    ownership.take();
    await settle();

    expect([ownership.owned, ownership.isDone, changes()]).toEqual([true, false, 1]);
    expect(await stored()).toBe('me');
    expect(me.operations).toEqual(['acquire', 'claim', 'dueSchedules']);
    const [claim] = me.calls.flatMap((call) => (call.operation === 'claim' ? [call.args[1]] : []));
    expect(claim?.owner).toBe(asked(me)[0]?.[0]);
    await ownership.close();
  });

  it('costs nothing while it is kept', async () => {
    const { bed, me, ownership, settle } = await seenPartition();
    ownership.take();
    await settle();
    await me.session.stop();
    me.calls.length = 0;
    for (let i = 0; i < 10; i++) {
      ownership.take();
      ownership.retry();
      await bed.clock.advance(LENGTH);
    }

    expect(me.calls).toEqual([]);
    await ownership.close();
  });

  describe('of another process', () => {
    it('is taken once that has released it', async () => {
      const { bed, ownership, stored, settle } = await seenPartition();
      await bed.broker.fleet.acquire(PARTITION, THEIRS, undefined);
      ownership.take();
      await settle();
      expect([ownership.owned, await stored()]).toEqual([false, 'other']);
      await bed.broker.fleet.release(PARTITION, THEIRS);
      ownership.retry();
      await settle();

      expect([ownership.owned, await stored()]).toEqual([true, 'me']);
      await ownership.close();
    });

    it('is taken once its session has ended, not before', async () => {
      const { bed, other, ownership, stored, settle } = await seenPartition();
      await bed.broker.fleet.acquire(PARTITION, THEIRS, undefined);
      await other.session.stop();
      ownership.take();
      await bed.clock.advance(LENGTH - HEARTBEAT);
      ownership.retry();
      await settle();
      expect(await stored()).toBe('other');
      await bed.clock.advance(LENGTH);
      ownership.retry();
      await settle();

      expect([ownership.owned, await stored()]).toEqual([true, 'me']);
      await ownership.close();
    });

    it('is left to whoever has taken it since, a session that had ended before', async () => {
      const { bed, other, ownership, stored, settle } = await seenPartition();
      await bed.broker.fleet.acquire(PARTITION, THEIRS, undefined);
      ownership.take();
      await settle();
      await other.session.stop();
      await bed.clock.advance(LENGTH + HEARTBEAT);
      await bed.broker.fleet.acquire(PARTITION, 'again other', THEIRS);
      ownership.retry();
      await settle();
      expect([ownership.owned, await stored()]).toEqual([false, 'other']);
      await bed.clock.advance(LENGTH + HEARTBEAT);
      ownership.retry();
      await settle();

      expect([ownership.owned, await stored()]).toEqual([true, 'me']);
      await ownership.close();
    });

    it('is asked for only if its owner, which is alive, has had time to release it by itself, each time', async () => {
      const { bed, me, other, ownership, settle } = await seenPartition();
      await bed.broker.fleet.acquire(PARTITION, THEIRS, undefined);
      ownership.take();
      await settle();
      for (let i = 0; i < 5; i++) {
        ownership.retry();
        await settle();
      }
      expect([me.count('acquire'), other.requests]).toEqual([6, []]);
      const request = [0, THEIRS];
      for (const requests of [[request], [request, request]]) {
        await bed.clock.advance(1000);
        for (const _ of [1, 2]) {
          ownership.retry();
          await settle();
        }
        expect(other.requests).toEqual(requests);
      }
      await ownership.close();
    });

    it('is not waited for any more once it is given up', async () => {
      const { bed, ownership, stored, settle } = await seenPartition();
      await bed.broker.fleet.acquire(PARTITION, THEIRS, undefined);
      ownership.take();
      await settle();
      ownership.giveUp();
      await bed.broker.fleet.release(PARTITION, THEIRS);
      ownership.retry();
      await settle();

      expect([ownership.owned, ownership.isDone, await stored()]).toEqual([false, true, undefined]);
    });
  });

  describe('if a reply is lost', () => {
    it('asks again as the same owner', async () => {
      const { bed, me, ownership, stored, settle } = await seenPartition();
      me.around = instead('acquire', async ({ run }) => {
        await run();
        throw GONE;
      });
      ownership.take();
      await settle();
      expect(ownership.owned).toBe(false);
      me.around = passOn;
      await bed.clock.advance(250);

      expect([ownership.owned, await stored()]).toEqual([true, 'me']);
      expect(asked(me)).toHaveLength(2);
      expect(asked(me)[1]).toEqual(asked(me)[0]);
      await ownership.close();
    });

    it('releases until that is confirmed, and has one line for it', async () => {
      const { bed, me, ownership, stored, settle } = await seenPartition();
      ownership.take();
      await settle();
      me.around = instead('release', async () => Promise.reject(GONE));
      ownership.giveUp('other');
      await bed.clock.advance(2000);
      expect([ownership.owned, ownership.isDone, await stored()]).toEqual([false, false, 'me']);
      expect(me.count('release')).toBeGreaterThanOrEqual(8);
      expect(me.lines).toEqual(["warn Partitions of topic 'jobs' cannot be taken or given up: gone"]);
      expect(me.errors[0]).toEqual({ source: 'membership', topic: 'jobs', partition: 0, error: GONE });
      me.around = passOn;
      await bed.clock.advance(250);

      expect([ownership.isDone, await stored()]).toEqual([true, undefined]);
    });

    it('disclaims what is stored as its own, and tells who is to own it', async () => {
      const { bed, other, ownership, stored, settle } = await seenPartition();
      await bed.broker.fleet.acquire(PARTITION, 'old me', undefined);
      ownership.giveUp('other');
      await ownership.disclaim('old me');
      await settle();

      expect(await stored()).toBeUndefined();
      expect(other.inherited).toEqual([PARTITION]);
    });

    it('disclaims nothing that it owns, and nothing of others', async () => {
      const { me, ownership, stored, settle } = await seenPartition();
      ownership.take();
      await settle();
      await ownership.disclaim(asked(me)[0]?.[0] ?? '');
      await ownership.disclaim(THEIRS);

      expect([me.count('release'), ownership.owned, await stored()]).toEqual([0, true, 'me']);
      await ownership.close();
    });
  });

  it('restores the topic and takes the partition again, as a new owner, if nothing is stored of it', async () => {
    const { me, ownership, settle, changes } = await seenPartition();
    ownership.take();
    await settle();
    const [[first] = []] = asked(me);
    ownership.lost(undefined);
    await settle();

    expect(me.count('configure')).toBe(1);
    expect([ownership.owned, changes()]).toEqual([true, 3]);
    expect(asked(me).at(-1)?.[0]).not.toBe(first);
    await ownership.close();
  });

  it.each([0, LENGTH + HEARTBEAT])('waits if another has taken it over, silent for %i ms', async (silent) => {
    const { bed, me, other, ownership, stored, settle } = await seenPartition();
    ownership.take();
    await other.session.stop();
    await bed.clock.advance(silent);
    await bed.broker.fleet.acquire(PARTITION, THEIRS, asked(me)[0]?.[0]);
    ownership.lost(THEIRS);
    await settle();

    expect([ownership.owned, await stored(), me.count('configure')]).toEqual([false, 'other', 0]);
    await ownership.close();
  });

  it('releases what it has taken if it was given up meanwhile, without a claim, and tells who is to own it', async () => {
    const { me, other, ownership, stored, settle } = await seenPartition();
    const gate = new Gate();
    me.around = instead('acquire', async ({ run }) => {
      await gate.opened;
      return run();
    });
    ownership.take();
    ownership.giveUp('other');
    gate.open();
    await settle();

    expect([ownership.owned, ownership.isDone, await stored()]).toEqual([false, true, undefined]);
    expect(other.inherited).toEqual([PARTITION]);
    expect(me.operations).toEqual(['acquire', 'release', 'tell']);
  });

  it('claims nothing if it has taken the partition after it was closed', async () => {
    const { me, ownership, settle } = await seenPartition();
    const gate = new Gate();
    me.around = instead('acquire', async ({ run }) => {
      await gate.opened;
      return run();
    });
    ownership.take();
    const closed = ownership.close();
    gate.open();
    await closed;
    await settle();

    expect([ownership.owned, me.operations]).toEqual([false, ['acquire']]);
  });

  it('takes it again, as a new owner, if it is to own it while it is given up', async () => {
    const { me, ownership, stored, settle } = await seenPartition();
    ownership.take();
    await settle();
    const gate = new Gate();
    me.around = instead('release', async ({ run }) => {
      await gate.opened;
      return run();
    });
    ownership.giveUp('other');
    await settle();
    ownership.take();
    gate.open();
    await settle();

    expect([ownership.owned, await stored()]).toEqual([true, 'me']);
    const owners = asked(me).map(([owner]) => owner);
    expect(new Set(owners).size).toBe(2);
    await ownership.close();
  });

  describe('if Redis may have forgotten the owner', () => {
    it('keeps what is still stored, with one call', async () => {
      const { me, ownership, settle, changes } = await seenPartition();
      ownership.take();
      await settle();
      ownership.verify();
      await settle();

      const [[owner] = []] = asked(me);
      expect(asked(me)).toEqual([
        [owner, undefined],
        [owner, undefined],
      ]);
      expect([ownership.owned, changes()]).toEqual([true, 1]);
      await ownership.close();
    });

    it('ends what another process has taken', async () => {
      const { bed, me, ownership, settle } = await seenPartition();
      ownership.take();
      await settle();
      await bed.broker.fleet.acquire(PARTITION, THEIRS, asked(me)[0]?.[0]);
      ownership.verify();
      await settle();

      expect(ownership.owned).toBe(false);
      await ownership.close();
    });

    it('looks again if it could not be asked', async () => {
      const { bed, me, ownership, settle } = await seenPartition();
      ownership.take();
      await settle();
      me.around = instead('acquire', async () => Promise.reject(GONE));
      ownership.verify();
      await settle();
      await bed.broker.fleet.acquire(PARTITION, THEIRS, asked(me)[0]?.[0]);
      me.around = passOn;
      await bed.clock.advance(250);

      expect(ownership.owned).toBe(false);
      await ownership.close();
    });
  });

  it('keeps no other partition waiting if it cannot be reached', async () => {
    const { bed, me, handling } = await seenPartition();
    const owners = assignPartitions('jobs', 8, ['me', 'other']);
    const [hanging, ...others] = owners.flatMap((owner, index) => (owner === 'me' ? [index] : []));
    me.around = async (call) =>
      call.operation === 'acquire' && call.args[0].index === hanging ? new Promise(() => {}) : call.run();
    const consumer = new TopicConsumer(handling, 8);
    consumer.takeShare();
    const shared = consumer.shared();
    await bed.clock.advance(2000);
    await shared;

    expect(asked(me)).toHaveLength(4);
    expect(consumer.holdings).toEqual(others);
  });
});
