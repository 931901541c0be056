import type { Clock } from '../../time/clock.js';
import type { Log } from '../../log.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import type { Broker, BrokerLink, Partition, PartitionSignal, Unsubscribe } from '../broker.interface.js';
import { ServerClock } from '../server-clock.js';
import type { IoRedis, RedisClient } from './redis-clients.js';
import { RedisConnection } from './redis-connection.js';
import { RedisEventLog } from './redis-event-log.js';
import { RedisKeys } from './redis-keys.js';
import { RedisOperations } from './redis-operations.js';
import type { RedisSettings } from './redis-settings.js';
import { decodeSignal } from './replies.js';
import { type ScriptObserver, ScriptRunner } from './script-runner.js';
import { warnOfClockOffset, warnOfLosses } from './server-checks.js';
import { SignalSubscriber } from './signal-subscriber.js';

export interface RedisBrokerOptions {
  readonly ioredis: IoRedis;
  readonly redis: RedisSettings;
  readonly prefix: string;
  /** Longest time to wait for the first connection, in milliseconds. */
  readonly connectTimeout: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly onScript?: ScriptObserver | undefined;
}

/**
 * Makes a broker on Redis. ioredis is loaded only now: a test with a broker in memory never waits for it, and importing the
 * library takes a third of the time.
 */
export async function createRedisBroker(options: Omit<RedisBrokerOptions, 'ioredis'>): Promise<RedisBroker> {
  // So that webpack, and what is built on it, keeps everything in one file.
  const ioredis = await import(/* webpackMode: "eager" */ 'ioredis');
  return new RedisBroker({ ioredis, ...options });
}

/** Keeps messages in Redis: the operations, and the connections, clock and signals that they need. */
export class RedisBroker extends RedisOperations implements Broker {
  readonly link: BrokerLink;
  readonly eventLog: RedisEventLog;
  readonly #connection: RedisConnection;
  readonly #clock: Clock;
  readonly #serverClock: ServerClock;
  readonly #scripts: ScriptRunner;
  readonly #subscriber: SignalSubscriber;
  readonly #keys: RedisKeys;
  readonly #log: Log;

  constructor({ ioredis, redis, prefix, connectTimeout, clock, log, onScript }: RedisBrokerOptions) {
    const connection = new RedisConnection(ioredis, redis, log, connectTimeout, clock);
    const serverClock = new ServerClock(clock);
    const subscriber = new SignalSubscriber({ connection, clock, log });
    const scripts = new ScriptRunner({ connection, clock, serverClock, log, onScript });
    const keys = new RedisKeys(prefix);
    super({ connection, scripts, keys, now: () => serverClock.now() });
    this.#connection = connection;
    this.#clock = clock;
    this.#serverClock = serverClock;
    this.#scripts = scripts;
    this.#subscriber = subscriber;
    this.#keys = keys;
    this.#log = log;
    this.eventLog = new RedisEventLog({ connection, scripts, keys, clock });
    this.link = {
      get isUp() {
        return connection.isUp('commands');
      },
      ping: () => this.#askTime(),
      listen: () => subscriber.confirm(),
      rebuild: (which) => connection.rebuild(which === 'calls' ? 'commands' : 'subscriber'),
    };
  }

  /** The connection that commands go through. */
  get client(): RedisClient {
    return this.#connection.commands;
  }

  now(): number {
    return this.#serverClock.now();
  }

  async connect(): Promise<void> {
    await this.#connection.connect();
    const { commands, address } = this.#connection;
    await this.#assertPermissions();
    await warnOfLosses(commands, address, this.#log);
    // So that the first timers and time stamps are right already.
    await this.#askTime();
    warnOfClockOffset(this.#serverClock.now() - Date.now(), address, this.#log);
    this.#log.log(`Connected to Redis at ${address}`);
    this.eventLog.start();
  }

  async close(): Promise<void> {
    await this.eventLog.stop();
    this.#subscriber.close();
    this.#connection.close();
  }

  watchPartition(
    partition: Partition,
    listener: (signal: PartitionSignal) => void,
    onListening?: () => void,
  ): Unsubscribe {
    const onMessage = (message: string): void => {
      const signal = decodeSignal(message);
      if (signal) listener(signal);
    };
    return this.#subscriber.subscribe(this.#keys.partition(partition).channel, onMessage, onListening);
  }

  watchMembers(topic: string, listener: () => void, onListening?: () => void): Unsubscribe {
    return this.#subscriber.subscribe(this.#keys.topic(topic).channel, listener, onListening);
  }

  onAvailable(listener: () => void): () => void {
    const { commands } = this.#connection;
    commands.on('ready', listener);
    return () => commands.off('ready', listener);
  }

  onError(listener: (error: Error) => void): () => void {
    return this.#connection.onError(listener);
  }

  /** A command that is denied in the middle of a script would leave half of its work done. */
  async #assertPermissions(): Promise<void> {
    const { probe } = this.#keys;
    const denied = await this.#scripts.run('probe', { key: probe, channel: probe }, {});
    if (denied.length === 0) return;
    throw new ConfigurationError(
      `The user of Redis at ${this.#connection.address} may not do all that is needed; allow it, as docs/internals/redis-keys.md ` +
        `says. Denied: ${denied.join('; ')}`,
    );
  }

  async #askTime(): Promise<void> {
    const sentAt = this.#clock.now();
    const [seconds, microseconds] = await this.#connection.send((redis) => redis.time());
    this.#serverClock.observe(Number(seconds) * 1000 + Number(microseconds) / 1000, sentAt);
  }
}
