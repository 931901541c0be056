import { describe, expect, it } from 'vitest';
import type { ConsumerContext } from '../../../../lib/consumer/consumer-context.js';
import { PartitionSharing } from '../../../../lib/consumer/ownership/partition-sharing.js';
import { TopicConsumer } from '../../../../lib/consumer/ownership/topic-consumer.js';
import { PROTOCOL_BEFORE, PROTOCOL_VERSION } from '../../../../lib/store/fleet/topic-config.js';
import { BrokerUnavailableError } from '../../../../lib/errors/operation.errors.js';
import { assignPartitions } from '../../../../lib/fleet/assign-partitions.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { sleep } from '../../../../lib/time/sleep.js';
import { FleetBed, failing } from '../../../support/units/fleet-bed.js';
import { HEARTBEAT, SILENT_REPORTER, testHandling, testRegistry } from '../../../support/units/handling.js';
import { turns } from '../../../support/units/test-claimant.js';
import { Gate } from '../../../support/waiting.js';

const PARTITIONS = 8;

/** How long it takes to release a partition, in milliseconds. */
const RELEASE_TIME = 20;

/** What shares these topics in a process. */
async function sharingOf(
  context: ConsumerContext,
  topics: readonly string[],
  registry = testRegistry(context),
): Promise<PartitionSharing> {
  const shared = { reporter: SILENT_REPORTER, onDataLost: () => {}, leaseChanged: () => {} };
  const sharing = new PartitionSharing({ context, registry, heartbeat: HEARTBEAT, ...shared });
  await sharing.begin(topics);
  for (const topic of topics) {
    await registry.partitions(topic);
    const handling = testHandling({ context, session: sharing.session, topics: registry });
    sharing.add(new TopicConsumer({ ...handling, handled: { ...handling.handled, topic } }, PARTITIONS));
  }
  return sharing;
}

/** A clock by which everything takes long. */
class SlowClock extends ManualClock {
  #passed = 0;

  override now(): number {
    return super.now() + this.#passed++;
  }
}

describe('PartitionSharing', () => {
  it('asks again for the partitions that were released, and for no others', async () => {
    const bed = new FleetBed();
    const [me, other] = [bed.process('me'), bed.process('other')];
    await other.session.start();
    const all = Array.from({ length: PARTITIONS }, (_, index) => ({ topic: 'jobs', index }));
    for (const partition of all) await bed.broker.fleet.acquire(partition, 'old other', undefined);
    const sharing = await sharingOf(me.context, ['jobs']);
    await sharing.start();
    await bed.clock.advance(0);
    const [mine] = me.calls.flatMap((call) => (call.operation === 'acquire' ? [call.args[0]] : []));
    if (!mine) throw new Error('It has asked for nothing');
    me.calls.length = 0;
    await bed.broker.fleet.release(mine, 'old other');
    for (let i = 0; i < 2; i++) {
      await bed.broker.fleet.tell({ to: 'me', signal: { kind: 'released', partitions: [mine] } });
      await bed.clock.advance(0);
    }

    expect(sharing.consumers[0]?.holdings).toEqual([mine.index]);
    // What it owns by then it looks at: it may have been taken from it, and released since.
    expect(me.operations).toEqual(['acquire', 'claim', 'dueSchedules', 'acquire']);
    await sharing.leave();
  });

  it('takes again what another process had taken from it unnoticed, and says that it has released', async () => {
    const bed = new FleetBed();
    const me = bed.process('me');
    const sharing = await sharingOf(me.context, ['jobs']);
    await sharing.start();
    await bed.clock.advance(0);
    const [taken] = me.calls.flatMap((call) => (call.operation === 'acquire' ? [call.args] : []));
    if (!taken) throw new Error('It has taken nothing');
    const [partition, owner] = taken;
    await bed.broker.fleet.acquire(partition, 'new other', owner);
    await bed.broker.fleet.release(partition, 'new other');
    await bed.broker.fleet.tell({ to: 'me', signal: { kind: 'released', partitions: [partition] } });
    await bed.clock.advance(0);

    expect((await bed.broker.messages.stats(partition)).owner).toBe('me');
    await sharing.leave();
  });

  it('looks what is due in each of its partitions if signals may have got lost', async () => {
    const bed = new FleetBed();
    const me = bed.process('me');
    const sharing = await sharingOf(me.context, ['jobs']);
    await sharing.start();
    await bed.clock.advance(0);
    me.calls.length = 0;
    sharing.lookAgain();
    await bed.clock.advance(0);

    expect([me.count('claim'), me.count('dueSchedules')]).toEqual([PARTITIONS, PARTITIONS]);
    await sharing.stop();
  });

  it('looks what is due in each of its partitions if the limits of their topic change', async () => {
    const bed = new FleetBed();
    const me = bed.process('me');
    const sharing = await sharingOf(me.context, ['jobs']);
    await sharing.start();
    await bed.clock.advance(0);
    me.calls.length = 0;
    sharing.consumers[0]?.changeLimits(undefined);
    await bed.clock.advance(0);

    expect(me.count('claim')).toBe(PARTITIONS);
    await sharing.stop();
  });

  it('raises topics once no process of the version before lives any more, which has none of those that are raised', async () => {
    const bed = new FleetBed();
    const me = bed.process('me');
    const old = { session: 'old', length: 2 * HEARTBEAT, digest: 'theirs' };
    await bed.broker.fleet.rememberTopics({ digest: 'theirs', topics: ['jobs', 'mails'] });
    await bed.broker.fleet.heartbeat({ ...old, count: 1 });
    for (const [topic, protocol] of [
      ['jobs', PROTOCOL_BEFORE],
      ['mails', PROTOCOL_VERSION],
    ] as const) {
      await bed.broker.fleet.configure(topic, PARTITIONS, undefined, {}, protocol);
    }
    const protocols = async (): Promise<unknown[]> =>
      (await bed.broker.fleet.configsOf(['jobs', 'mails', 'chores'])).map((config) => config?.protocol);
    const registry = testRegistry(me.context);
    const sharing = await sharingOf(me.context, ['jobs', 'mails'], registry);
    const holdings = (): number[] => sharing.consumers.map((consumer) => consumer.holdings.length);
    await sharing.start();
    await registry.partitions('chores');
    for (let count = 2; count < 10; count++) {
      await bed.clock.advance(HEARTBEAT);
      await bed.broker.fleet.heartbeat({ ...old, count });
    }
    expect(await protocols()).toEqual([2, 3, 2]);
    expect(holdings()).toEqual([PARTITIONS / 2, PARTITIONS]);
    expect(registry.mayShareRecords('mails')).toBe(false);

    me.around = failing('configure');
    await bed.clock.advance(10 * HEARTBEAT);
    expect([me.errors[0]?.source, await protocols()]).toEqual(['membership', [2, 3, 2]]);
    me.around = async ({ run }) => run();
    await bed.clock.advance(HEARTBEAT);
    expect(await protocols()).toEqual([3, 3, 3]);
    await bed.clock.advance(HEARTBEAT);
    expect(holdings()).toEqual([PARTITIONS, PARTITIONS]);
    expect(['jobs', 'mails'].map((topic) => registry.mayShareRecords(topic))).toEqual([true, true]);

    me.calls.length = 0;
    await bed.clock.advance(10 * HEARTBEAT);
    expect(me.count('configure')).toBe(0);
    await sharing.leave();
  });

  it('raises nothing before it has seen who lives', async () => {
    const bed = new FleetBed();
    const me = bed.process('me');
    me.around = failing('heartbeat');
    await bed.broker.fleet.configure('jobs', PARTITIONS, undefined, {}, PROTOCOL_BEFORE);
    const registry = testRegistry(me.context);
    const sharing = await sharingOf(me.context, ['jobs'], registry);
    await sharing.start();
    await bed.clock.advance(HEARTBEAT);
    expect([me.count('heartbeat') > 0, await bed.broker.fleet.configOf('jobs')]).toMatchObject([true, { protocol: 2 }]);

    me.around = async ({ run }) => run();
    await bed.clock.advance(4 * HEARTBEAT);
    expect(await bed.broker.fleet.configOf('jobs')).toMatchObject({ protocol: PROTOCOL_VERSION });
    await sharing.leave();
  });

  it('shares many topics a few at a time, so that other work of the process has its turn between them', async () => {
    const bed = new FleetBed();
    const me = bed.process('me');
    const topics = Array.from({ length: 100 }, (_, i) => `jobs.${i}`);
    const sharing = await sharingOf({ ...me.context, clock: new SlowClock() }, topics);
    const asked = (): number =>
      new Set(me.calls.flatMap((call) => (call.operation === 'acquire' ? [call.args[0].topic] : []))).size;
    await sharing.start();
    expect(asked()).toBeGreaterThan(0);
    expect(asked()).toBeLessThan(topics.length / 2);
    await turns(topics.length);

    expect(asked()).toBe(topics.length);
    await sharing.leave();
  });

  it('takes what is released for it while it starts, though a partition that is to be its own does not answer', async () => {
    const bed = new FleetBed();
    const [me, other] = [bed.process('me'), bed.process('other')];
    const mine = assignPartitions('jobs', PARTITIONS, ['me', 'other']).flatMap((owner, i) =>
      owner === 'me' ? [i] : [],
    );
    const [away, ...there] = mine;
    const timeUp = new Gate();
    for (const process of [me, other]) {
      process.around = async (call) => {
        if ((call.operation === 'acquire' || call.operation === 'release') && call.args[0].index === away) {
          await timeUp.opened;
          throw new BrokerUnavailableError('gone');
        }
        // Until then the other process has asked, and goes by the signal.
        if (call.operation === 'release') await sleep(bed.clock, RELEASE_TIME, new AbortController().signal);
        return call.run();
      };
    }
    const second = await sharingOf(other.context, ['jobs']);
    const first = await sharingOf(me.context, ['jobs']);
    void second.start([['jobs']]);
    await bed.clock.advance(10 * HEARTBEAT);
    expect(second.consumers[0]?.holdings).toHaveLength(PARTITIONS - 1);
    void first.start([['jobs']]);
    await bed.clock.advance(2 * RELEASE_TIME);

    expect(first.consumers[0]?.holdings).toEqual(there);
    timeUp.open();
    for (const sharing of [first, second]) {
      await Promise.all([sharing.stop(), ...sharing.consumers.map(async (consumer) => consumer.stop())]);
    }
  });
});
