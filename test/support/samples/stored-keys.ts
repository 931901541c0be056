import { Redis } from 'ioredis';

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
    const keys = await this.#endingWith('config');
    return keys.map((key) => key.slice(1, key.indexOf('}'))).toSorted();
  }

  /** For each partition that is owned, the process that owns it. */
  async owners(): Promise<number[]> {
    const keys = await this.#endingWith('owner');
    const members = await Promise.all(keys.map((key) => this.#redis.get(key)));
    return members.map((member) => Number(member?.split(':')[1]));
  }

  /** What processes keep that consume; each removes its own when it ends in order. */
  async ofConsumers(): Promise<string[]> {
    return this.#endingWith('owner', 'members', 'holdings', 'inflight');
  }

  /** Removes everything; the end of it. */
  async remove(): Promise<void> {
    const keys = await this.#all();
    if (keys.length > 0) await this.#redis.unlink(keys);
    this.#redis.disconnect();
  }

  async #endingWith(...parts: string[]): Promise<string[]> {
    const keys = await this.#all();
    return keys.filter((key) => parts.some((part) => key.endsWith(`:${part}`)));
  }

  async #all(): Promise<string[]> {
    return this.#redis.keys(`{${this.#prefix}*`);
  }
}
