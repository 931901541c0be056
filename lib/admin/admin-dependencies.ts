import type { Broker } from '../store/broker.interface.js';
import type { EventSink } from '../events/queue-events.interface.js';
import type { Log } from '../log.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import type { Clock } from '../time/clock.js';
import { serveWithin } from '../store/calls/serve.js';

/** What every operation of the admin works with. */
export interface AdminDependencies {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  /** Names this process. */
  readonly process: string;
  /** Longest time for an answer, in milliseconds. */
  readonly timeout: number;
  /** What makes the payloads of a topic readable; `undefined`: they are plain JSON. */
  readonly serializerOf: (topic: string) => PayloadSerializer | undefined;
  /** Tells the fleet what is new of this process; `undefined` if it never has anything to tell. Never rejects. */
  readonly reportOwn?: () => Promise<void>;
}

/**
 * Makes calls that may be repeated until the broker has served them.
 *
 * @throws BrokerUnavailableError if that takes longer than `timeout`
 */
export function served<T>(
  { clock, timeout }: Pick<AdminDependencies, 'clock' | 'timeout'>,
  calls: () => Promise<T>,
): Promise<T> {
  return serveWithin(clock, timeout, calls);
}
