import type { Clock } from '../../time/clock.js';
import type {
  Broker,
  BrokerLink,
  DoctorFinding,
  EventLog,
  Partition,
  PartitionSignal,
  SessionSignal,
  Unsubscribe,
} from '../../store/broker.interface.js';
import { decodeSessionSignal } from '../../store/records/fleet-records.js';
import { PartitionWatchers } from '../../store/partition-watchers.js';
import { RedisKeys } from '../../store/keys.js';
import { RedisOperations } from '../../store/operations/operations.js';
import { decodeSignal } from '../../store/records/replies.js';
import { DataClock } from './data-clock.js';
import type { EmbeddedData } from './data/embedded-data.js';
import { EmbeddedCalls } from './embedded-calls.js';
import { EmbeddedServer } from './embedded-server.js';
import type { Listeners } from './listeners.js';
import { LoopTurns } from './loop-turns.js';
import { processServer } from './process-server.js';

const IN_PROCESS: DoctorFinding = {
  check: 'connection',
  level: 'ok',
  message: 'Messages are kept in the memory of this process; there is no Redis to be looked at.',
  advice: '',
};

export interface EmbeddedBrokerOptions {
  /** First part of every key. @defaultValue 'dq' */
  readonly prefix?: string;
  readonly server?: EmbeddedServer;
}

/** The broker of `redis: 'embedded:'`: all connections of this process with one prefix see the same. */
export function createEmbeddedBroker(clock: Clock, prefix: string): EmbeddedBroker {
  const create = (): EmbeddedServer => new EmbeddedServer(new DataClock(clock, () => Date.now()), new LoopTurns());
  return new EmbeddedBroker(clock, { prefix, server: processServer(create) });
}

/**
 * Keeps messages in this process, by the same scripts as Redis does, on a clock that a test can move. Several runtimes may share one
 * instance, as the processes of a fleet share a Redis. No signal is ever lost here, and no connection can fail.
 */
export class EmbeddedBroker extends RedisOperations implements Broker {
  readonly keys: RedisKeys;
  readonly data: EmbeddedData;
  readonly calls: EmbeddedCalls;
  readonly link: BrokerLink = {
    isUp: true,
    ping: async () => {},
    listen: async () => {},
    rebuild: () => {},
    unreachable: [],
  };
  readonly eventLog: EventLog;
  readonly #clock: DataClock;
  readonly #messages: Listeners<string>;
  readonly #watchers: PartitionWatchers;

  /** @param server what others share it with; `undefined`: one of its own */
  constructor(clock: Clock, { prefix = 'dq', server }: EmbeddedBrokerOptions = {}) {
    server ??= new EmbeddedServer(new DataClock(clock));
    const { data, events } = server;
    const keys = new RedisKeys(prefix);
    const calls = new EmbeddedCalls(server, clock);
    const watchers = new PartitionWatchers();
    super({ calls, keys, watchers });
    this.#watchers = watchers;
    this.keys = keys;
    this.data = data;
    this.calls = calls;
    this.#clock = server.clock;
    this.#messages = server.messages;
    this.eventLog = {
      append: async (entry) => events.tell(prefix, entry),
      follow: (reader) => events.add(prefix, (entry) => reader.onEntry({ ...entry, missed: 0 })),
    };
  }

  now(): number {
    return this.#clock.now();
  }

  onClockStep(listener: () => void): () => void {
    return this.#clock.onStep(listener);
  }

  async connect(): Promise<void> {}

  async close(): Promise<void> {}

  async inspect(): Promise<DoctorFinding[]> {
    return [IN_PROCESS];
  }

  watchPartition(partition: Partition, listener: (signal: PartitionSignal) => void): Unsubscribe {
    const { channel } = this.keys.partition(partition);
    const forget = this.#watchers.add(channel, listener);
    const end = this.#messages.add(channel, (message) => {
      const signal = decodeSignal(message);
      if (signal) listener(signal);
    });
    return async () => {
      forget();
      await end();
    };
  }

  watchSession(session: string, listener: (signal: SessionSignal) => void): Unsubscribe {
    const onMessage = (message: string): void => {
      const signal = decodeSessionSignal(message);
      if (signal) listener(signal);
    };
    const ends = [this.keys.fleet.channel, this.keys.sessionChannel(session)].map((channel) =>
      this.#messages.add(channel, onMessage),
    );
    return async () => {
      for (const end of ends) await end();
    };
  }

  onAvailable(): () => void {
    return () => {};
  }

  onError(): () => void {
    return () => {};
  }
}
