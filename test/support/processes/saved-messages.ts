import type { Redis } from 'ioredis';

/** What holds messages of a partition that nobody handles. */
const KINDS = /^\{[^}]*\}:(scheduled|messages|deliveries|dead|errors|keyed)$/;

/** The messages of all topics as they were once, so that what empties a backlog can be done again without loading it anew. */
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

/** The keys under which messages are stored that nobody handles. */
export async function messageKeys(redis: Redis): Promise<string[]> {
  return (await redis.keys('*')).filter((key) => KINDS.test(key));
}
