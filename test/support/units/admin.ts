import type { AdminDependencies } from '../../../lib/admin/admin-dependencies.js';
import { DelayQueueAdmin } from '../../../lib/admin/delay-queue.admin.js';
import type { Broker } from '../../../lib/broker/broker.interface.js';
import { type AuditDependencies, AuditLog } from '../../../lib/events/audit-log.js';
import type { Clock } from '../../../lib/time/clock.js';

type Given = Partial<AdminDependencies & Pick<AuditDependencies, 'log' | 'events' | 'process'>>;

/** An admin on a broker; silent, but for what the test says. */
export function testAdmin(broker: Broker, clock: Clock, given: Given = {}): DelayQueueAdmin {
  const {
    log = { log: () => {}, warn: () => {}, error: () => {} },
    events = { wants: () => false, emit: () => {} },
    process = 'me',
    timeout = 1000,
    ...others
  } = given;
  return new DelayQueueAdmin({
    broker,
    clock,
    audit: new AuditLog({ store: broker, clock, log, events, process, timeout }),
    timeout,
    serializerOf: () => undefined,
    ...others,
  });
}
