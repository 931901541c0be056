import type { CheckedDelivery } from './delivery-check.js';

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
