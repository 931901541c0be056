import type { WorkMeter } from '../../fleet/work-meter.js';
import type { TopicRegistry } from '../../fleet/topic.registry.js';
import type { AbandonedCalls } from './abandoned-calls.js';
import type { Admission } from '../admission/admission.js';
import type { ConsumerContext } from '../consumer-context.js';
import type { TopicLog } from '../consumption-log.js';
import type { DeadLetterNotifier } from './dead-letter-notifier.js';
import type { CheckedDelivery } from './delivery.js';
import type { LeaseEnds } from './lease-ends.js';
import type { HandledTopic, MessageHandler } from '../message-handler.interface.js';

/** Handling of a topic in this process, shared by all partitions of the topic. */
export interface TopicHandling {
  readonly context: ConsumerContext;
  readonly handler: Pick<MessageHandler, 'name' | 'batch'>;
  readonly destination: Destination;
  readonly handled: HandledTopic;
  /** Decides which messages can run. */
  readonly admission: Admission;
  readonly notifier: DeadLetterNotifier;
  readonly topics: TopicRegistry;
  readonly abandoned: AbandonedCalls;
  readonly leaseEnds: LeaseEnds;
  readonly log: TopicLog;
  readonly work: WorkMeter;
}

/** Destination of a topic's messages. It knows nothing of claims and settling, and they know nothing of it. */
export interface Destination {
  /** Whether it takes messages now; those that come meanwhile are given back if not. */
  readonly isOpen: boolean;
  /** Lease to claim messages with, in milliseconds. @defaultValue the topic's lease */
  readonly lease?: number | undefined;
  /** Whether each message is settled by itself, at any time. @defaultValue false */
  readonly settlesEach?: boolean;
  /**
   * Hands messages over. Resolves with what `handed` returns; never rejects.
   *
   * @param deliveries those that are handed over together, at least one
   * @param handed called once with the result
   */
  hand(deliveries: readonly CheckedDelivery[], handed: Handed): Promise<void>;
}

/** Decides about messages that were handed over. Returns a promise if work on them has not ended. */
export type Handed = (handover: Handover) => Promise<void> | undefined;

/** Result of handing messages over. */
export interface Handover {
  /**
   * One result for each message, in their order: fulfilled is an ack. `undefined`: all of them are fulfilled. `'taken'`: the receiver that
   * has taken them settles them, here or elsewhere. `'left'`: no receiver has taken them.
   */
  readonly results: Results | 'taken' | 'left' | undefined;
  /** Resolves when work on the messages has ended; never rejects. `undefined` if it has ended already. */
  readonly ended: Promise<unknown> | undefined;
}

export type Results = readonly PromiseSettledResult<unknown>[];
