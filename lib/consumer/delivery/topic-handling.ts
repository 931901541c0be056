import type { Session } from '../../fleet/session.js';
import type { WorkMeter } from '../../fleet/work-meter.js';
import type { TopicRegistry } from '../../fleet/topic.registry.js';
import type { AbandonedCalls } from './abandoned-calls.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { TopicLog } from '../consumption-log.js';
import type { DeadLetterNotifier } from './dead-letter-notifier.js';
import type { Destination } from './destination.interface.js';
import type { HandlerSlots } from '../admission/handler-slots.js';
import type { LeaseEnds } from './lease-ends.js';
import type { HandledTopic, MessageHandler } from '../message-handler.interface.js';
import type { StarvationWatch } from '../admission/starvation-watch.js';
import type { SuspectQuota } from '../admission/suspect-quota.js';
import type { TopicHold } from '../admission/topic-hold.js';
import type { TopicLimiter } from '../admission/topic-limiter.js';

/** How this process handles a topic: what all partitions of the topic have in common. */
export interface TopicHandling {
  readonly context: ConsumerContext;
  readonly handler: Pick<MessageHandler, 'name' | 'batch'>;
  readonly destination: Destination;
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
  readonly starvation: StarvationWatch;
  readonly work: WorkMeter;
  /** Called when Redis turns out to have lost data. */
  readonly onDataLost: () => void;
}
