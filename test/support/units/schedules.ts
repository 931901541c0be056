import type { Broker } from '../../../lib/broker/broker.interface.js';
import { AuditLog } from '../../../lib/events/audit-log.js';
import { DelayQueueSchedules } from '../../../lib/schedules/delay-queue.schedules.js';
import { SystemClock } from '../../../lib/time/clock.js';
import { testContext, testRegistry } from './handling.js';

const TIMEOUT = 5000;

/** Schedules on a broker, as a process has them that has not used any topic yet. */
export function testSchedules(broker: Broker): DelayQueueSchedules {
  const context = testContext({ broker, clock: new SystemClock() });
  const { clock, log, events } = context;
  return new DelayQueueSchedules({
    store: broker,
    topics: testRegistry(context),
    clock,
    events,
    audit: new AuditLog({ store: broker, clock, log, events, process: 'me', timeout: TIMEOUT }),
    timeout: TIMEOUT,
    handled: () => new Set(),
  });
}
