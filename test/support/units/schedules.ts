import type { Broker } from '../../../lib/store/broker.interface.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { type Around, wrapBroker } from '../../../lib/store/wrap-broker.js';
import { DeclaredSchedules } from '../../../lib/schedules/declared-schedules.js';
import { DelayQueueSchedules, type SchedulesDependencies } from '../../../lib/schedules/delay-queue.schedules.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import type { Clock } from '../../../lib/time/clock.js';
import { testAdmin, testAudit } from './admin.js';
import { testContext, testRegistry } from './handling.js';

export const TICK = { id: 'tick', topic: 'jobs', payload: 7, every: 60_000 };

export function dependenciesOf(broker: Broker, clock: Clock): SchedulesDependencies {
  const context = testContext({ clock, broker });
  const { events } = context;
  const [topics, audit] = [testRegistry(context), testAudit(broker, clock)];
  return { store: broker, topics, clock, events, timeout: 1000, audit, handled: () => new Set() };
}

/** Schedules on a broker in memory; a test may set what is done in the place of a call. */
export function setUp() {
  const clock = new ManualClock();
  const embedded = new EmbeddedBroker(clock);
  const world = { clock, embedded, around: (async ({ run }) => run()) as Around };
  const broker = wrapBroker(embedded, async (call) => world.around(call));
  const { events, log } = testContext();
  const schedules = new DelayQueueSchedules(dependenciesOf(broker, clock));
  const admin = testAdmin(embedded, clock);
  return Object.assign(world, { schedules, admin, declared: new DeclaredSchedules({ schedules, clock, log, events }) });
}
