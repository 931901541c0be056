import type { Redis } from 'ioredis';

/** Keys with messages of a partition that nobody handles. */
const KINDS = /^\{[^}]*\}:(scheduled|messages|deliveries|dead|errors|keyed)$/;

/** A copy of the messages of all topics, so that emptying a backlog can be repeated without publishing it again. */
export class SavedMessages {
  readonly #redis: Redis;
  readonly #keys: readonly string[];

  private constructor(redis: Redis, keys: readonly string[]) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** Nothing may be in flight. */
  static async save(redis: Redis): Promise<SavedMessages> {
    const keys = await messageKeys(redis);
    for (const key of keys) await redis.copy(key, savedName(key), 'REPLACE');
    return new SavedMessages(redis, keys);
  }

  /** Nothing may be in flight here, either. */
  async restore(): Promise<void> {
    const others = (await messageKeys(this.#redis)).filter((key) => !this.#keys.includes(key));
    if (others.length > 0) await this.#redis.unlink(others);
    for (const key of this.#keys) await this.#redis.copy(savedName(key), key, 'REPLACE');
  }
}

function savedName(key: string): string {
  return `saved:${key}`;
}

/** The keys with messages that nobody handles. */
export async function messageKeys(redis: Redis): Promise<string[]> {
  return (await redis.keys('*')).filter((key) => KINDS.test(key));
}
