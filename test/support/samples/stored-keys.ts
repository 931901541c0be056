import { Redis } from 'ioredis';
import { ofConsumersAmong, ownersAmong } from '../stored-fleet.js';

/** What applications under test have stored under a prefix, and under those that begin with it. */
export class StoredKeys {
  readonly #redis: Redis;
  readonly #prefix: string;

  constructor(url: string, prefix: string) {
    this.#redis = new Redis(url, { lazyConnect: true });
    this.#prefix = prefix;
  }

  /** The topics that are in use, each with its prefix. */
  async topics(): Promise<string[]> {
    const keys = await this.#all();
    return keys
      .filter((key) => key.endsWith(':config'))
      .map((key) => key.slice(1, key.indexOf('}')))
      .toSorted();
  }

  /** For each partition that is owned, the process that owns it. */
  async owners(): Promise<number[]> {
    const owners = await ownersAmong(this.#redis, await this.#all());
    return owners.map((session) => Number(session.split(':').at(-2)));
  }

  /** What processes have that consume; each gives up its own when it ends in order. */
  async ofConsumers(): Promise<string[]> {
    return ofConsumersAmong(this.#redis, await this.#all());
  }

  /** Removes everything; the end of it. */
  async remove(): Promise<void> {
    const keys = await this.#all();
    if (keys.length > 0) await this.#redis.unlink(keys);
    this.#redis.disconnect();
  }

  async #all(): Promise<string[]> {
    return this.#redis.keys(`{${this.#prefix}*`);
  }
}
