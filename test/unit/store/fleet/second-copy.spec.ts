import { expect, it } from 'vitest';
import type { TopicLimits } from '../../../../lib/store/deliveries/limits.js';
import { EmbeddedBroker } from '../../../../lib/engines/embedded/embedded.broker.js';
import { FleetStore } from '../../../../lib/store/fleet/fleet-store.js';
import { PartitionWatchers } from '../../../../lib/store/partition-watchers.js';
import type { Driver } from '../../../../lib/store/driver.interface.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { Gate } from '../../../support/waiting.js';

const OLD: TopicLimits = { inFlight: { topic: 5 } };
const NEW: TopicLimits = { inFlight: { topic: 2 } };

it('the second copy of what is known of a topic is what was stored last, however late a process writes it', async () => {
  const broker = new EmbeddedBroker(new ManualClock());
  const gate = new Gate();
  const calls: Pick<Driver, 'run' | 'call'> = {
    run: async (name, place, given) => {
      if (name === 'replace-field') await gate.opened;
      return broker.driver.run(name, place, given);
    },
    call: async (keys, command) => broker.driver.call(keys, command),
  };
  const slow = new FleetStore({ driver: calls as Driver, keys: broker.keys, watchers: new PartitionWatchers() });
  const configuring = slow.configure('a', 3, undefined, { limits: OLD });
  await broker.fleet.configure('a', 3);
  await broker.fleet.setTerms('a', { limits: NEW });
  gate.open();
  await configuring;

  expect(await broker.fleet.configsOf(['a'])).toMatchObject([{ partitions: 3, limits: NEW }]);
});
