import type { Unsubscribe } from './driver.interface.js';
import type { PartitionSignal, SessionSignal } from './fleet/signals.js';
import type { DoctorFinding } from './inspection.interface.js';
import type { Partition } from './partition.js';
import type { EventLog } from './records/event-log.interface.js';
import type { Stores } from './store-broker.js';

/** Signals between processes. They can get lost, so a listener also has to look now and then. */
export interface SignalSource {
  /**
   * Listens from now on. A subscription that fails is repeated until the broker has confirmed it; the caller need not wait.
   *
   * @param onListening called each time signals begin to come after a time in which they may have been lost, the first one
   *   included: then it is time to look
   */
  watchPartition(
    partition: Partition,
    listener: (signal: PartitionSignal) => void,
    onListening?: () => void,
  ): Unsubscribe;
  /** Listens to the signals for a session and for all sessions. The rest as above. */
  watchSession(session: string, listener: (signal: SessionSignal) => void, onListening?: () => void): Unsubscribe;
  /** Calls the listener each time the broker can be reached again by calls. */
  onAvailable(listener: () => void): () => void;
  /** Calls the listener with each error of a connection; a call that waits gets its own error. */
  onError(listener: (error: Error) => void): () => void;
}

/** Connections to the broker: one for calls, and one for signals. Both can be the same. */
export interface BrokerLink {
  /** Whether the connection for calls is up, as far as this process knows. */
  readonly isUp: boolean;
  /**
   * Asks every server for its time, which keeps the estimates of their clocks right. Resolves once one of them has answered.
   *
   * @throws BrokerUnavailableError if none answers
   */
  ping(): Promise<void>;
  /**
   * Subscribes once more to everything that this process listens to; resolves once the broker has confirmed that signals come.
   *
   * @throws BrokerUnavailableError
   */
  listen(): Promise<void>;
  /** Whether signals may get lost on their way from server to server, while each connection of this process is up. @defaultValue no */
  readonly losesSignals?: boolean;
  /** Ends a connection that is up and makes it anew. Calls under way on it fail, and can be repeated. */
  rebuild(connection: 'calls' | 'signals'): void;
  /** The servers that this process cannot reach by calls, as far as it knows without asking: of a cluster, its masters. */
  readonly unreachable: readonly UnreachableServer[];
}

/** A server that cannot be reached. */
export interface UnreachableServer {
  /** Host and port. */
  readonly address: string;
  /** Time at which that was first noticed. */
  readonly since: Date;
  readonly error: Error;
}

/** Everything the runtime needs of the place where messages are kept. */
export interface Broker extends Stores, SignalSource {
  /** @throws BrokerUnavailableError; ConfigurationError if the server is too old */
  connect(): Promise<void>;
  readonly link: BrokerLink;
  readonly eventLog: EventLog;
  /**
   * Returns the broker's time as this process estimates it, in epoch milliseconds with fractions. Each node of a cluster has its own.
   *
   * @param partition that goes by the clock; without one, the clock is that of the fleet's sessions
   */
  now(partition?: Partition): number;
  /** Calls the listener when the estimate of a clock has changed by a millisecond or more, so that timers are set anew. */
  onClockStep(listener: () => void): () => void;
  /**
   * Checks everything that the promises need of the place where messages are kept. Never rejects: what cannot be found out
   * is a finding.
   *
   * @param patience longest time for an answer to one question, in milliseconds; at most two are asked one after the other
   * @returns at least one finding for each check that applies, in the order of `DOCTOR_CHECKS`
   */
  inspect(patience: number): Promise<readonly DoctorFinding[]>;
  close(): Promise<void>;
}
