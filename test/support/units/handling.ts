import type { TopicLimits } from '../../../lib/store/deliveries/limits.js';
import { EmbeddedBroker } from '../../../lib/engines/embedded/embedded.broker.js';
import { Admission } from '../../../lib/consumer/admission/admission.js';
import { AbandonedCalls } from '../../../lib/consumer/delivery/abandoned-calls.js';
import type { ConsumerContext } from '../../../lib/consumer/consumer-context.js';
import { ConsumptionLog, TopicLog } from '../../../lib/consumer/consumption-log.js';
import { DeadLetterNotifier } from '../../../lib/consumer/delivery/dead-letter-notifier.js';
import { HandlerCalls } from '../../../lib/consumer/delivery/handler-calls.js';
import { HandlerSlots, SlotPool } from '../../../lib/consumer/admission/handler-slots.js';
import { LeaseEnds } from '../../../lib/consumer/delivery/lease-ends.js';
import type { HandlerSettings, MessageHandler } from '../../../lib/consumer/message-handler.interface.js';
import { SuspectQuota } from '../../../lib/consumer/admission/suspect-quota.js';
import type { SharedTopic } from '../../../lib/consumer/ownership/partition-ownership.js';
import type { FleetMember } from '../../../lib/fleet/fleet-member.interface.js';
import { Session } from '../../../lib/fleet/session.js';
import { WorkMeter } from '../../../lib/fleet/work-meter.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { TopicRegistry, type TopicRegistryOptions } from '../../../lib/fleet/topic.registry.js';

export const LEASE = 30_000;

/** Longest time between two heartbeats, in milliseconds. */
export const HEARTBEAT = 1000;

const SETTINGS: HandlerSettings = {
  partitions: undefined,
  order: undefined,
  limits: undefined,
  delivery: 'at-least-once',
  attempts: 3,
  backoff: { delay: 1000, factor: 1, maxDelay: 1000, jitter: 0 },
  timeout: undefined,
  lease: LEASE,
  expireAfter: undefined,
  serializer: undefined,
  deadLetter: { maxAge: undefined, maxCount: undefined },
  finished: undefined,
  said: new Set(),
};

/** What the parts of a consumer are given, silent and in memory but for what the test says. */
export function testContext(given: Partial<ConsumerContext> = {}): ConsumerContext {
  const clock = given.clock ?? new ManualClock();
  return {
    broker: given.broker ?? new EmbeddedBroker(clock),
    clock,
    log: { log: () => {}, warn: () => {}, error: () => {} },
    events: { wants: () => false, emit: () => {} },
    session: 'me',
    ...given,
  };
}

/** What this process knows of topics; whoever wants to hear of changed topics says so. */
export function testRegistry(
  { broker, clock }: Pick<ConsumerContext, 'broker' | 'clock'>,
  given: Partial<TopicRegistryOptions> = {},
): TopicRegistry {
  return new TopicRegistry({ store: broker, clock, settingsOf: () => SETTINGS, onChanged: () => {}, ...given });
}

const IDLE_MEMBER: FleetMember = {
  share: () => {},
  report: () => {},
  released: () => {},
  verify: () => {},
  restore: () => {},
  lookAgain: () => {},
  wanted: () => {},
  permitsMoved: () => {},
  leaseChanged: () => {},
  limitsChanged: () => {},
};

/** The session of a process, with heartbeats at most {@link HEARTBEAT} apart. */
export function testSession(
  { broker, clock, log, events, session: id }: ConsumerContext,
  topics: readonly string[],
  member: FleetMember = IDLE_MEMBER,
): Session {
  return new Session({ broker, clock, log, events, id, heartbeat: HEARTBEAT, topics, member });
}

/** Of a process that nobody looks at. */
export const SILENT_REPORTER = { poke: () => {}, forgotten: () => {} };

export interface TestHandlingOptions {
  readonly context?: ConsumerContext;
  readonly topic?: string;
  readonly settings?: Partial<HandlerSettings> | undefined;
  readonly batch?: number | undefined;
  readonly priority?: number;
  readonly slots?: HandlerSlots;
  readonly handle?: MessageHandler['handle'];
  readonly session?: Session;
  readonly topics?: TopicRegistry;
  /** Of the topic, whatever is stored. */
  readonly limits?: TopicLimits;
  readonly onStarving?: () => void;
}

/** A topic `jobs` that `Jobs.work` handles. */
export function testHandling(options: TestHandlingOptions = {}): SharedTopic {
  const { context = testContext(), topic = 'jobs', settings, batch, priority = 0, handle = () => {} } = options;
  const handled = { topic, schema: undefined, settings: { ...SETTINGS, ...settings } };
  const { lease } = handled.settings;
  const handler = { name: 'Jobs.work', concurrency: 1, batch, topics: [handled], handle };
  const consumption = new ConsumptionLog(context.log, context.clock, 1);
  consumption.knows(topic, 8);
  return {
    context,
    handler,
    destination: new HandlerCalls(context, handler),
    handled,
    admission: new Admission({
      context,
      topic,
      partitions: 8,
      lease,
      patience: HEARTBEAT,
      limits: options.limits,
      slots: options.slots ?? new HandlerSlots(new SlotPool(1000), 1000),
      priority,
      batch: batch ?? 1,
      suspects: new SuspectQuota(),
      onStarving: options.onStarving ?? (() => {}),
    }),
    notifier: new DeadLetterNotifier(context, []),
    session: options.session ?? testSession(context, [topic]),
    topics: options.topics ?? testRegistry(context),
    abandoned: new AbandonedCalls(context),
    leaseEnds: new LeaseEnds(context.clock),
    log: new TopicLog(consumption, topic),
    work: new WorkMeter(topic),
    onDataLost: () => {},
  };
}
