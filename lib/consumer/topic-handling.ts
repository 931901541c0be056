import type { Session } from '../fleet/session.js';
import type { WorkMeter } from '../fleet/work-meter.js';
import type { TopicRegistry } from '../topics/topic.registry.js';
import type { AbandonedCalls } from './abandoned-calls.js';
import type { ConsumerContext } from './consumer-context.js';
import type { TopicLog } from './consumption-log.js';
import type { DeadLetterNotifier } from './dead-letter-notifier.js';
import type { Destination } from './handler-destination.js';
import type { HandlerSlots } from './handler-slots.js';
import type { LeaseEnds } from './lease-ends.js';
import type { HandledTopic, MessageHandler } from './message-handler.interface.js';
import type { SuspectQuota } from './suspect-quota.js';
import type { TopicHold } from './topic-hold.js';
import type { TopicLimiter } from './topic-limiter.js';

/** How this process handles a topic: what all partitions of the topic have in common. */
export interface TopicHandling {
  readonly context: ConsumerContext;
  readonly handler: Pick<MessageHandler, 'name' | 'batch'>;
  /** Where its messages go. */
  readonly destination: Destination;
  /** For how long the next claim leases what it brings, in milliseconds; 0: it is delivered at most once, and gone when it is claimed. */
  readonly lease: () => number;
  readonly handled: HandledTopic;
  /** Place of the topic among those of its handler, 0 for the first. */
  readonly priority: number;
  /** Shared by all topics of the handler. */
  readonly slots: HandlerSlots;
  readonly notifier: DeadLetterNotifier;
  readonly session: Session;
  readonly topics: TopicRegistry;
  readonly abandoned: AbandonedCalls;
  readonly leaseEnds: LeaseEnds;
  readonly suspects: SuspectQuota;
  readonly log: TopicLog;
  readonly limiter: TopicLimiter;
  readonly hold: TopicHold;
  readonly work: WorkMeter;
  /** Called when Redis turns out to have lost data. */
  readonly onDataLost: () => void;
}
