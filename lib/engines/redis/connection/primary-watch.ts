import type { Redis } from 'ioredis';
import type { Log } from '../../../log.js';
import { type IoRedis, type RedisClient, sentinelsOf } from './redis-clients.js';
import { textOf, withoutSecrets } from './redis-errors.js';
import { isReply } from '../../../store/redis-error-codes.js';
import type { Clock, Timer } from '../../../time/clock.js';

/**
 * Time after the last call that a replica refused, in milliseconds: by then calls go to the primary, and signals come
 * from there. Connections that were made anew at once could end at the same replica.
 */
const FOLLOW_AFTER = 500;

/**
 * Calls that a replica refuses within this time, in milliseconds, were sent on the same connection: it takes longer until
 * there is another one.
 */
const LEAVING_TIME = 50;

/** Calls that a replica refuses within this time, in milliseconds, tell of one failover, which is worth one warning. */
const FAILOVER_TIME = 10_000;

interface ReplicaWatchOptions {
  /** Host and port, for messages. */
  readonly address: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Makes the connections anew that are never refused anything, since they only read. */
  readonly follow: () => void;
}

/**
 * Notices that the primary has become a replica, behind an address that leads, or will lead, to another server. ioredis makes the
 * connection of the refused call anew; those that only read follow once calls are served again. See docs/decisions/0040.
 */
export class ReplicaWatch {
  readonly #options: ReplicaWatchOptions;
  #following: Timer | undefined;
  /** Time of the latest refused call, epoch milliseconds on the local clock. */
  #refusedAt = -Infinity;
  /** Time at which a connection was last left for that, likewise. */
  #leftAt = -Infinity;

  constructor(options: ReplicaWatchOptions) {
    this.#options = options;
  }

  /**
   * Call this with each refused call.
   *
   * @returns whether to make its connection anew: once, however many calls are refused on it
   */
  refused(): boolean {
    const { address, clock, log, follow } = this.#options;
    const now = clock.now();
    if (now - this.#refusedAt > FAILOVER_TIME) {
      log.warn(`Redis at ${address} has become a read-only replica; the connections are made anew`);
    }
    this.#refusedAt = now;
    this.close();
    this.#following = clock.setTimer(FOLLOW_AFTER, follow);
    if (now - this.#leftAt < LEAVING_TIME) return false;
    this.#leftAt = now;
    return true;
  }

  close(): void {
    this.#following?.cancel();
  }
}

/** Channel on which a Sentinel says that it has swapped the primary of a group for another server: `<name> <host> <port> <host> <port>`. */
const CHANNEL = '+switch-master';

/** A server that a Sentinel calls the primary now. */
interface Primary {
  readonly host: string;
  readonly port: number;
}

interface SentinelWatchOptions {
  readonly ioredis: IoRedis;
  /** Host and port of the Sentinels, for messages. */
  readonly address: string;
  readonly log: Log;
}

/**
 * Listens to the Sentinels, and makes connections anew that lead to a former primary. That one confirms writes for some seconds
 * after its successor has taken over, and then drops them. See docs/decisions/0040.
 */
export class SentinelWatch {
  readonly #options: SentinelWatchOptions;
  readonly #clients = new Set<Redis>();
  #sentinels: readonly Redis[] = [];
  /** Latest primary that a Sentinel has named. */
  #primary: Primary | undefined;
  /** Primary named when a connection of the client was last left. */
  readonly #leftFor = new WeakMap<Redis, Primary>();
  #hasWarned = false;

  constructor(options: SentinelWatchOptions) {
    this.#options = options;
  }

  /** Connects to all Sentinels of a client, if it has any. Retries one that is away until it is back. */
  start(client: RedisClient): void {
    const { name } = (client as Redis).options;
    this.#sentinels = sentinelsOf(this.#options.ioredis, client);
    for (const sentinel of this.#sentinels) {
      sentinel.on('ready', () => void this.#subscribe(sentinel));
      sentinel.on('message', (_channel, message: string) => {
        const [group, , , host = '', port] = message.split(' ');
        if (group === name) this.#switched({ host, port: Number(port) });
      });
      sentinel.connect().catch(() => {});
    }
  }

  /** Adds a client whose connections are to lead to the primary. */
  add(client: RedisClient): void {
    if (client.isCluster) return;
    const redis = client as Redis;
    this.#clients.add(redis);
    // It may have asked a Sentinel that has not heard of the swap.
    redis.on('ready', () => this.#follow(redis));
    redis.on('end', () => this.#clients.delete(redis));
  }

  close(): void {
    for (const sentinel of this.#sentinels) sentinel.disconnect();
    this.#sentinels = [];
  }

  /** Never rejects. */
  async #subscribe(sentinel: Redis): Promise<void> {
    try {
      await sentinel.subscribe(CHANNEL);
    } catch (error) {
      // On a connection that is lost it is tried again with the next one.
      if (!isReply(error) || this.#hasWarned) return;
      this.#hasWarned = true;
      this.#options.log.warn(
        `Sentinels of Redis at ${this.#options.address} do not tell this user of failovers, so that publishes can be lost with a ` +
          `former primary: ${textOf(withoutSecrets(error))}. Allow SUBSCRIBE on the channel ${CHANNEL} there.`,
      );
    }
  }

  /** Handles a swap. Each Sentinel reports it once it knows, the last one about two seconds after the first. */
  #switched(primary: Primary): void {
    const { address, log } = this.#options;
    const isNews = primary.host !== this.#primary?.host || primary.port !== this.#primary.port;
    this.#primary = primary;
    if (isNews) log.warn(`Redis at ${address} has another primary; the connections are made anew`);
    for (const client of this.#clients) this.#follow(client);
  }

  /** Leaves a connection once per report of a Sentinel: that may write the address in another way than the socket. */
  #follow(client: Redis): void {
    const primary = this.#primary;
    if (!primary || client.status !== 'ready' || this.#leftFor.get(client) === primary) return;
    const { remoteAddress, remotePort } = client.stream;
    if (remoteAddress === primary.host && remotePort === primary.port) return;
    this.#leftFor.set(client, primary);
    client.disconnect(true);
  }
}
