import type { Session } from '../../fleet/session.js';
import type { WorkMeter } from '../../fleet/work-meter.js';
import type { TopicRegistry } from '../../fleet/topic.registry.js';
import type { AbandonedCalls } from './abandoned-calls.js';
import type { Admission } from '../admission/admission.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { TopicLog } from '../consumption-log.js';
import type { DeadLetterNotifier } from './dead-letter-notifier.js';
import type { Destination } from './destination.interface.js';
import type { LeaseEnds } from './lease-ends.js';
import type { HandledTopic, MessageHandler } from '../message-handler.interface.js';

/** How this process handles a topic: what all partitions of the topic have in common. */
export interface TopicHandling {
  readonly context: ConsumerContext;
  readonly handler: Pick<MessageHandler, 'name' | 'batch'>;
  readonly destination: Destination;
  readonly handled: HandledTopic;
  /** What may run. */
  readonly admission: Admission;
  readonly notifier: DeadLetterNotifier;
  readonly session: Session;
  readonly topics: TopicRegistry;
  readonly abandoned: AbandonedCalls;
  readonly leaseEnds: LeaseEnds;
  readonly log: TopicLog;
  readonly work: WorkMeter;
  /** Called when Redis turns out to have lost data. */
  readonly onDataLost: () => void;
}
