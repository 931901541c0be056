import type { WorkMeter } from '../../fleet/work-meter.js';
import type { TopicRegistry } from '../../fleet/topic.registry.js';
import type { AbandonedCalls } from './abandoned-calls.js';
import type { Admission } from '../admission/admission.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { TopicLog } from '../consumption-log.js';
import type { DeadLetterNotifier } from './dead-letter-notifier.js';
import type { CheckedDelivery } from './delivery-check.js';
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
  readonly topics: TopicRegistry;
  readonly abandoned: AbandonedCalls;
  readonly leaseEnds: LeaseEnds;
  readonly log: TopicLog;
  readonly work: WorkMeter;
}

/** Where the messages of a topic go. It knows nothing of claims and settling, and they know nothing of it. */
export interface Destination {
  /** Whether it takes messages now; those that come while it does not are given back. */
  readonly isOpen: boolean;
  /** The lease that messages should be claimed with, in milliseconds. @defaultValue as the topic is set */
  readonly lease?: number | undefined;
  /**
   * Never rejects.
   *
   * @param checked what is handed over together, one at least
   */
  hand(checked: readonly CheckedDelivery[]): Promise<Handover>;
}

/** What has come of messages that were handed over. */
export interface Handover {
  /**
   * One result for each message, in their order: fulfilled is an ack. `undefined`: all of them are fulfilled. `'taken'`: whoever has taken them
   * settles them, here or elsewhere. `'left'`: nobody has taken them.
   */
  readonly results: Results | 'taken' | 'left' | undefined;
  /** Whoever has the messages is still at work on them, and has ended then; never rejects. `undefined`: has ended. */
  readonly ended: Promise<unknown> | undefined;
}

export type Results = readonly PromiseSettledResult<unknown>[];
