import { createHash } from 'node:crypto';
import type { RedisConnection } from '../../broker/redis/redis-connection.js';
import { isNoScript } from '../../broker/redis/redis-errors.js';
import type { BullKeys } from './bull-keys.js';

/** A script as the build imports it. */
interface Source {
  readonly source: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

type Values = Readonly<Record<string, string | number>>;

/** A script on the keys of a queue of BullMQ, which runs by its hash, or by its source if Redis does not have it. */
export class ImportScript {
  readonly #script: Source;
  readonly #sha: string;

  constructor(script: Source) {
    this.#script = script;
    this.#sha = createHash('sha1').update(script.source).digest('hex');
  }

  /**
   * @param given the keys and arguments that are not among those of the queue, by the names in the head of the script
   * @throws BrokerUnavailableError
   */
  async run(
    connection: RedisConnection,
    keys: BullKeys,
    given: Values,
    rest: readonly string[] = [],
  ): Promise<unknown> {
    const { source, keys: keyNames, args: names } = this.#script;
    const known: Values = { ...keys, job_base: keys.jobBase, ...given };
    const places = keyNames.map((name) => String(known[name]));
    const values = [...places, ...names.map((name) => String(known[name])), ...rest];
    return connection.send(async (redis) => {
      try {
        return await redis.evalsha(this.#sha, places.length, ...values);
      } catch (error) {
        if (!isNoScript(error)) throw error;
        return redis.eval(source, places.length, ...values);
      }
    }, keys.base);
  }
}
