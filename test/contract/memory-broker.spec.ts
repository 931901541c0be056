import { MemoryBroker } from '../../lib/broker/memory/memory.broker.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { describeBroker } from './broker-contract.js';

describeBroker('MemoryBroker', async () => {
  // Real clocks do not show whole milliseconds either.
  const clock = new ManualClock(Date.UTC(2026, 0, 1) + 0.375);
  const broker = new MemoryBroker(clock);
  broker.replicas = 0;
  await broker.connect();
  return {
    broker,
    time: async () => clock.now(),
    advance: (milliseconds) => clock.advance(milliseconds),
    close: () => broker.close(),
  };
});
