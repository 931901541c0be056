import type { RoleName, Roles } from '../client/protocol.js';
import type { ContenderName } from '../contenders/contender.js';
import { ClientProcess } from './client-process.js';
import { RedisProbe } from './redis-probe.js';

/** A measurement that takes longer than this counts as unfinished, in milliseconds. */
const TIME_LIMIT = 600_000;

/** Gives measurements an empty Redis and client processes. */
export class Bench {
  readonly redis: RedisProbe;
  readonly #redisUrl: string;
  readonly #clients = new Set<ClientProcess<RoleName>>();

  constructor(redisUrl: string) {
    this.#redisUrl = redisUrl;
    this.redis = new RedisProbe(redisUrl);
  }

  start<R extends RoleName>(contender: ContenderName, role: R, options: Roles[R]['options']): ClientProcess<R> {
    const client = new ClientProcess<R>({ contender, role, redisUrl: this.#redisUrl, options });
    this.#clients.add(client);
    return client;
  }

  /** Starts a process and waits for its result. */
  async run<R extends RoleName>(
    contender: ContenderName,
    role: R,
    options: Roles[R]['options'],
  ): Promise<Roles[R]['result']> {
    return this.start(contender, role, options).result;
  }

  /**
   * Makes one measurement on an empty Redis.
   *
   * @throws if a process failed, or the measurement took too long
   */
  async measure<T>(measurement: () => Promise<T>): Promise<T> {
    await this.redis.empty();
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`It did not finish within ${TIME_LIMIT / 1000} s.`)), TIME_LIMIT);
    });
    try {
      return await Promise.race([measurement(), limit]);
    } finally {
      clearTimeout(timer);
      await Promise.all(Array.from(this.#clients, (client) => client.end()));
      this.#clients.clear();
    }
  }

  close(): void {
    this.redis.close();
  }
}
