import type { AdminDependencies } from '../../../lib/admin/admin-dependencies.js';
import { DelayQueueAdmin } from '../../../lib/admin/delay-queue.admin.js';
import { AuditLog } from '../../../lib/events/audit-log.js';
import type { Broker } from '../../../lib/store/broker.interface.js';
import type { Clock } from '../../../lib/time/clock.js';

/** What an admin and its audit log need of a process that is silent. */
const silent = (broker: Broker, clock: Clock): AdminDependencies => ({
  broker,
  clock,
  log: { log: () => {}, warn: () => {}, error: () => {} },
  events: { wants: () => false, emit: () => {} },
  process: 'me',
  timeout: 1000,
  serializerOf: () => undefined,
});

/** An admin on a broker; silent, but for what the test says. */
export function testAdmin(broker: Broker, clock: Clock, given: Partial<AdminDependencies> = {}): DelayQueueAdmin {
  return new DelayQueueAdmin({ ...silent(broker, clock), ...given });
}

/** What writes down what operators do, on a broker. */
export function testAudit(broker: Broker, clock: Clock): AuditLog {
  return new AuditLog(silent(broker, clock));
}
