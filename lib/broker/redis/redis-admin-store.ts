import type { AdminStore } from '../admin-store.interface.js';
import type { RedisConnection } from './redis-connection.js';
import type { RedisKeys } from './redis-keys.js';

/** Most topics that one call answers. */
const TOPICS_PER_CALL = 1000;

/** Names keys and arguments of a script for each method, as `RedisBroker` does for those that deliver. */
export class RedisAdminStore implements AdminStore {
  readonly #connection: RedisConnection;
  readonly #keys: RedisKeys;

  constructor(connection: RedisConnection, keys: RedisKeys) {
    this.#connection = connection;
    this.#keys = keys;
  }

  async topics(): Promise<string[]> {
    const all: string[] = [];
    let page: string[];
    do {
      const last = all.at(-1);
      page = await this.#topicsAfter(last === undefined ? '-' : `(${last}`);
      all.push(...page);
    } while (page.length === TOPICS_PER_CALL);
    return all;
  }

  async #topicsAfter(min: string): Promise<string[]> {
    try {
      return await this.#connection.commands.zrangebylex(this.#keys.topics(), min, '+', 'LIMIT', 0, TOPICS_PER_CALL);
    } catch (error) {
      throw this.#connection.toError(error);
    }
  }
}
