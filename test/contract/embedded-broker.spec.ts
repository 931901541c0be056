import { EmbeddedBroker } from '../../lib/engines/embedded/embedded.broker.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { describeBroker } from './broker-contract.js';

async function open() {
  // Real clocks do not show whole milliseconds either.
  const clock = new ManualClock(Date.UTC(2026, 0, 1) + 0.375);
  const broker = new EmbeddedBroker(clock);
  broker.driver.replicas = 0;
  await broker.connect();
  return {
    broker,
    time: async () => clock.now(),
    advance: (milliseconds: number) => clock.advance(milliseconds),
    close: () => broker.close(),
  };
}

describeBroker('EmbeddedBroker', open);
describeBroker('EmbeddedBroker, deliveries share records', async () => ({ ...(await open()), sharesFrom: 1 }));
