import type { AdminStore } from '../admin-store.interface.js';
import type { Partition } from '../broker.interface.js';
import type { RedisConnection } from './redis-connection.js';
import type { RedisKeys } from './redis-keys.js';
import type { ScriptRunner } from './script-runner.js';

/** Most topics that one call answers. */
const TOPICS_PER_CALL = 1000;

/** Names keys and arguments of a script for each method, as `RedisBroker` does for those that deliver. */
export class RedisAdminStore implements AdminStore {
  readonly #connection: RedisConnection;
  readonly #scripts: ScriptRunner;
  readonly #keys: RedisKeys;

  constructor(connection: RedisConnection, scripts: ScriptRunner, keys: RedisKeys) {
    this.#connection = connection;
    this.#scripts = scripts;
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

  async pause(partition: Partition): Promise<void> {
    await this.#scripts.run('pause', [this.#keys.partition(partition).meta], []);
  }

  async resume(partition: Partition): Promise<void> {
    const { meta, channel } = this.#keys.partition(partition);
    await this.#scripts.run('resume', [meta], [this.#publishCommand, channel]);
  }

  get #publishCommand(): string {
    return this.#connection.isRedis7 ? 'SPUBLISH' : 'PUBLISH';
  }

  async #topicsAfter(min: string): Promise<string[]> {
    try {
      return await this.#connection.commands.zrangebylex(this.#keys.topics(), min, '+', 'LIMIT', 0, TOPICS_PER_CALL);
    } catch (error) {
      throw this.#connection.toError(error);
    }
  }
}
