import { expect, it } from 'vitest';
import { PartitionSharing } from '../../../lib/consumer/partition-sharing.js';
import { TopicConsumer } from '../../../lib/consumer/topic-consumer.js';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { assignPartitions } from '../../../lib/fleet/assign-partitions.js';
import { sleep } from '../../../lib/time/sleep.js';
import { FleetBed, type TestProcess } from '../../support/units/fleet-bed.js';
import { HEARTBEAT, testHandling, testRegistry } from '../../support/units/handling.js';
import { Gate } from '../../support/waiting.js';

const PARTITIONS = 12;

/** How long it takes to release a partition, in milliseconds. */
const RELEASE_TIME = 20;

/** A process that shares the partitions of a topic. */
function sharingOf({ context }: TestProcess) {
  const registry = testRegistry(context);
  const sharing = new PartitionSharing({ context, registry, heartbeat: HEARTBEAT, topics: ['jobs'] });
  const consumer = new TopicConsumer(testHandling({ context, session: sharing.session, topics: registry }), PARTITIONS);
  sharing.add(consumer);
  return { sharing, consumer, close: async () => Promise.all([sharing.stop(), consumer.stop()]) };
}

it('a process that starts takes what is released for it, though a partition that is to be its own does not answer', async () => {
  const bed = new FleetBed();
  const [me, other] = [bed.process('me'), bed.process('other')];
  const mine = assignPartitions('jobs', PARTITIONS, ['me', 'other']).flatMap((owner, i) => (owner === 'me' ? [i] : []));
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
  const second = sharingOf(other);
  const first = sharingOf(me);
  void second.sharing.start([['jobs']]);
  await bed.clock.advance(10 * HEARTBEAT);
  expect(second.consumer.holdings).toHaveLength(PARTITIONS - 1);
  void first.sharing.start([['jobs']]);
  await bed.clock.advance(2 * RELEASE_TIME);

  expect(first.consumer.holdings).toEqual(there);
  timeUp.open();
  await Promise.all([first.close(), second.close()]);
});
