import type { Clock } from '../../time/clock.js';
import type { Log } from '../../log.js';
import { BrokerUnavailableError } from '../../errors/operation.errors.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import type { ReplicaRequirement } from '../../messages/replicas.js';
import type { Broker, BrokerLink } from '../../store/broker.interface.js';
import type { DoctorFinding } from '../../store/inspection.interface.js';
import type { Partition } from '../../store/partition.js';
import { type RedisParts, inspectedServer, probeKey, tryCommands } from './doctor/redis-server.js';
import { checkServer, warnAtBoot } from './doctor/server-checks.js';
import { RedisDriver } from './scripts/redis-driver.js';
import { type IoRedis, type RedisClient, loadIoRedis } from './connection/redis-clients.js';
import { RedisConnection } from './connection/redis-connection.js';
import { RedisEventLog } from './redis-event-log.js';
import { StoreKeys } from '../../store/keys.js';
import type { RedisSettings } from './connection/which-redis.js';
import { ReplicatedCalls, warnOfFewReplicas } from './scripts/replicated-calls.js';
import { type ScriptObserver, ScriptRunner } from './scripts/script-runner.js';
import { StoreBroker } from '../../store/store-broker.js';
import { type Role, neededOf } from './scripts/rights.js';
import { SignalSubscriber } from './connection/signal-subscriber.js';

/** Longest time for an answer when the boot asks a server about itself, in milliseconds. */
const BOOT_PATIENCE = 1000;

export interface RedisBrokerOptions {
  readonly ioredis: IoRedis;
  readonly redis: RedisSettings;
  readonly prefix: string;
  /** Longest time to wait for the first connection, in milliseconds. */
  readonly connectTimeout: number;
  /** Replicas that have to confirm every publish; `undefined`: none, or only some publishes ask for them. */
  readonly replicas?: ReplicaRequirement | undefined;
  /** Role whose rights the Redis user needs at least; `undefined`: all roles. */
  readonly role?: Role | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly onScript?: ScriptObserver | undefined;
}

/** Makes a broker on Redis. */
export async function createRedisBroker(options: Omit<RedisBrokerOptions, 'ioredis'>): Promise<RedisBroker> {
  return new RedisBroker({ ioredis: await loadIoRedis(), ...options });
}

/** Keeps messages in Redis: has the operations, and the connections, clock and signals that they need. */
export class RedisBroker extends StoreBroker implements Broker {
  readonly link: BrokerLink;
  readonly eventLog: RedisEventLog;
  readonly #parts: RedisParts;
  readonly #connection: RedisConnection;
  readonly #subscriber: SignalSubscriber;
  readonly #replicated: ReplicatedCalls;
  readonly #replicas: ReplicaRequirement | undefined;
  readonly #role: Role | undefined;
  readonly #keys: StoreKeys;
  readonly #log: Log;

  constructor(options: RedisBrokerOptions) {
    const { ioredis, redis, prefix, connectTimeout, replicas, role, clock, log, onScript } = options;
    const connection = new RedisConnection(ioredis, redis, log, connectTimeout, clock);
    const subscriber = new SignalSubscriber({ connection, clock, log });
    const scripts = new ScriptRunner({ ioredis, connection, clock, log, onScript });
    const replicated = new ReplicatedCalls({ connection, clock });
    const keys = new StoreKeys(prefix);
    super({
      driver: new RedisDriver({ connection, scripts, replicated }),
      keys,
      subscribe: (...subscription) => subscriber.subscribe(...subscription),
    });
    this.#parts = { connection, scripts, subscriber, keys, clock, role };
    this.#connection = connection;
    this.#subscriber = subscriber;
    this.#replicated = replicated;
    this.#replicas = replicas;
    this.#role = role;
    this.#keys = keys;
    this.#log = log;
    this.eventLog = new RedisEventLog({ connection, scripts, keys, clock });
    this.link = {
      get isUp() {
        return connection.isUp('commands');
      },
      get unreachable() {
        return connection.nodes.unreachable;
      },
      ping: async () => connection.send(() => connection.nodes.ask()),
      listen: () => subscriber.confirm(),
      // Without sharded pub/sub they cross the bus of the cluster, which drops what it cannot send.
      get losesSignals() {
        return connection.commands.isCluster && !connection.isSharded(keys.fleet.channel);
      },
      rebuild: (which) => connection.rebuild(which === 'calls' ? 'commands' : 'subscriber'),
    };
  }

  /** The connection that commands go through. */
  get client(): RedisClient {
    return this.#connection.commands;
  }

  now(partition?: Partition): number {
    const key = partition ? this.#keys.partition(partition).scheduled : this.#keys.fleet.sessions;
    return this.#connection.nodes.now(key);
  }

  onClockStep(listener: () => void): () => void {
    return this.#connection.nodes.onStep(listener);
  }

  async connect(): Promise<void> {
    await this.#connection.connect();
    await this.#assertServed();
    await warnAtBoot(inspectedServer(this.#parts, BOOT_PATIENCE), this.#log);
    if (this.#replicas) await this.#checkReplicas(this.#replicas);
    this.#log.log(`Connected to Redis at ${this.#connection.address}`);
    this.eventLog.start();
  }

  async inspect(patience: number): Promise<DoctorFinding[]> {
    return checkServer(inspectedServer(this.#parts, patience));
  }

  async close(): Promise<void> {
    await this.eventLog.stop();
    this.#subscriber.close();
    this.#connection.close();
    this.#replicated.close();
  }

  onAvailable(listener: () => void): () => void {
    const { commands } = this.#connection;
    commands.on('ready', listener);
    return () => commands.off('ready', listener);
  }

  onError(listener: (error: Error) => void): () => void {
    return this.#connection.onError(listener);
  }

  /** A command that is refused in the middle of a script would leave half of its work done. */
  async #assertServed(): Promise<void> {
    const { connection } = this.#parts;
    const refused = await tryCommands(this.#parts, probeKey(this.#parts));
    const needed = neededOf(refused, this.#role);
    if (needed.length > 0) {
      throw new ConfigurationError(
        `Redis at ${connection.address} refuses what is needed. Allow its user all that docs/internals/redis-keys.md names; if ` +
          `the server does not know a command, use another one. Refused: ${needed.join('; ')}`,
      );
    }
    this.#parts.scripts.refuse(refused);
  }

  async #checkReplicas({ min }: ReplicaRequirement): Promise<void> {
    const { commands, address } = this.#connection;
    try {
      await this.#replicated.assertAllowed();
    } catch (error) {
      if (!(error instanceof BrokerUnavailableError) || error.transient) throw error;
      throw new ConfigurationError(error.message, { cause: error });
    }
    await warnOfFewReplicas(commands, min, address, this.#log);
  }
}
