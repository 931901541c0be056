import type { Broker } from '../store/broker.interface.js';
import type { EventSink } from '../events/queue-events.interface.js';
import type { Log } from '../log.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import type { Clock } from '../time/clock.js';
import { serveWithin } from '../store/calls/serve.js';

/** Dependencies of every admin operation. */
export interface AdminDependencies {
  readonly broker: Broker;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  /** Name of this process. */
  readonly process: string;
  /** Longest time for an answer, in milliseconds. */
  readonly timeout: number;
  /** Returns the serializer of a topic's payloads; `undefined`: they are plain JSON. */
  readonly serializerOf: (topic: string) => PayloadSerializer | undefined;
  /** Reports to the fleet what is new about this process; `undefined` if it never has anything to report. Never rejects. */
  readonly reportOwn?: () => Promise<void>;
}

/**
 * Makes repeatable calls until the broker has served them.
 *
 * @throws BrokerUnavailableError if that takes longer than `timeout`
 */
export function served<T>(
  { clock, timeout }: Pick<AdminDependencies, 'clock' | 'timeout'>,
  calls: () => Promise<T>,
): Promise<T> {
  return serveWithin(clock, timeout, calls);
}
