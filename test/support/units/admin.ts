import type { AdminDependencies } from '../../../lib/admin/admin-dependencies.js';
import { DelayQueueAdmin } from '../../../lib/admin/delay-queue.admin.js';
import { AuditLog } from '../../../lib/audit/audit-log.js';
import type { Broker } from '../../../lib/broker/broker.interface.js';
import type { Clock } from '../../../lib/time/clock.js';

/** An admin on a broker; silent, but for what the test says. */
export function testAdmin(broker: Broker, clock: Clock, given: Partial<AdminDependencies> = {}): DelayQueueAdmin {
  return new DelayQueueAdmin({
    broker,
    clock,
    log: { log: () => {}, warn: () => {}, error: () => {} },
    events: { wants: () => false, emit: () => {} },
    process: 'me',
    timeout: 1000,
    serializerOf: () => undefined,
    ...given,
  });
}

/** What writes down what operators do, on a broker. */
export function testAudit(broker: Broker, clock: Clock): AuditLog {
  return new AuditLog({
    broker,
    clock,
    log: { log: () => {}, warn: () => {}, error: () => {} },
    events: { wants: () => false, emit: () => {} },
    process: 'me',
    timeout: 1000,
  });
}
