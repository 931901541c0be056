import { PartitionOwnership } from '../../../lib/consumer/ownership/partition-ownership.js';
import { FleetBed } from './fleet-bed.js';
import { testHandling, testRegistry } from './handling.js';

export const PARTITION = { topic: 'jobs', index: 0 };

/** A partition of a topic as process `me` sees it, and another process. */
export async function seenPartition() {
  const bed = new FleetBed();
  const [me, other] = [bed.process('me'), bed.process('other')];
  for (const { session } of [me, other]) await session.start();
  await bed.clock.advance(0);
  const topics = testRegistry(me.context);
  await topics.partitions('jobs');
  me.calls.length = 0;
  let changes = 0;
  const handling = testHandling({ context: me.context, session: me.session, topics });
  const ownership = new PartitionOwnership(handling, PARTITION, () => changes++);
  return {
    bed,
    me,
    other,
    handling,
    ownership,
    changes: () => changes,
    stored: async () => (await bed.broker.messages.stats(PARTITION)).owner,
    settle: async () => bed.clock.advance(0),
  };
}
