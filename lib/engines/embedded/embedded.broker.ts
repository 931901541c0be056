import type { Clock } from '../../time/clock.js';
import type { Broker, BrokerLink } from '../../store/broker.interface.js';
import type { DoctorFinding } from '../../store/inspection.interface.js';
import type { EventLog } from '../../store/records/event-log.interface.js';
import { StoreKeys } from '../../store/keys.js';
import { StoreBroker } from '../../store/store-broker.js';
import { DataClock, EmbeddedServer, LoopTurns } from './embedded-server.js';
import type { EmbeddedData } from './data/embedded-data.js';
import { EmbeddedDriver } from './embedded-driver.js';
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

/** Creates the broker of `redis: 'embedded:'`: all connections of this process with one prefix see the same. */
export function createEmbeddedBroker(clock: Clock, prefix: string): EmbeddedBroker {
  const create = (): EmbeddedServer => new EmbeddedServer(new DataClock(clock, () => Date.now()), new LoopTurns());
  return new EmbeddedBroker(clock, { prefix, server: processServer(create) });
}

/**
 * Keeps messages in this process, by the same scripts as Redis does, on a clock that a test can move. Several runtimes may share one
 * instance, as the processes of a fleet share a Redis. No signal is ever lost here, and no connection can fail.
 */
export class EmbeddedBroker extends StoreBroker implements Broker {
  readonly keys: StoreKeys;
  readonly data: EmbeddedData;
  readonly driver: EmbeddedDriver;
  readonly link: BrokerLink = {
    isUp: true,
    ping: async () => {},
    listen: async () => {},
    rebuild: () => {},
    unreachable: [],
  };
  readonly eventLog: EventLog;
  readonly #clock: DataClock;

  /** @param server shared with other brokers; `undefined`: one of its own */
  constructor(clock: Clock, { prefix = 'dq', server }: EmbeddedBrokerOptions = {}) {
    server ??= new EmbeddedServer(new DataClock(clock));
    const { data, events } = server;
    const keys = new StoreKeys(prefix);
    const driver = new EmbeddedDriver(server, clock);
    super({ driver, keys, subscribe: (channel, listener) => server.messages.add(channel, listener) });
    this.keys = keys;
    this.data = data;
    this.driver = driver;
    this.#clock = server.clock;
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

  onAvailable(): () => void {
    return () => {};
  }

  onError(): () => void {
    return () => {};
  }
}
