import { runInThisContext } from 'node:vm';
import { Redis } from 'ioredis';
import { EmbeddedData } from '../../../lib/engines/embedded/data/embedded-data.js';
import { EmbeddedScripts } from '../../../lib/engines/embedded/embedded-scripts.js';
import type { LuaRuntime } from '../../../lib/engines/embedded/lua/lua-library.js';
import type { TranslatedScript } from '../../../lib/engines/embedded/translated-scripts.js';
import { translate } from '../../../scripts/setup/lua-translator.mjs';
import { IS_REDIS_7, type PrivateRedis, startRedis } from '../servers/redis-server.js';

/** A Redis, and data in this process that are given the same. */
export class EmbeddedTwin {
  readonly #server: PrivateRedis;
  readonly #redis: Redis;
  readonly #data = new EmbeddedData(
    () => 1_700_000_000_000,
    () => {},
  );

  static async start(): Promise<EmbeddedTwin> {
    return new EmbeddedTwin(await startRedis());
  }

  constructor(server: PrivateRedis) {
    this.#server = server;
    this.#redis = new Redis(server.url);
  }

  /** The answers of Redis, and of this process; every byte is a character. */
  async call(name: string, ...args: string[]): Promise<[unknown, unknown]> {
    const sent = args.map((arg) => Buffer.from(arg, 'latin1'));
    // As a script is answered: connections of RESP3 have other shapes.
    const answer = this.#redis.callBuffer('EVAL', 'return redis.call(unpack(ARGV))', '0', name, ...sent);
    return [await settled(async () => answer), await settled(async () => this.#data.call(name, ...args))];
  }

  /** Runs a script, whose source has one character a byte. */
  async run(source: string, keys: readonly string[] = [], args: readonly string[] = []): Promise<[unknown, unknown]> {
    const sent = [...keys, ...args].map((one) => Buffer.from(one, 'latin1'));
    const answer = this.#redis.callBuffer('EVAL', Buffer.from(source, 'latin1'), String(keys.length), ...sent);
    const scripts = new EmbeddedScripts(this.#data, { tried: made(source) });
    return [await settled(async () => answer), await settled(async () => scripts.run('tried', [...keys], [...args]))];
  }

  async stop(): Promise<void> {
    this.#redis.disconnect();
    await this.#server.stop();
  }
}

/** What the build makes of a script. */
function made(source: string): (runtime: LuaRuntime) => TranslatedScript {
  return runInThisContext(translate(source, 'tried')) as (runtime: LuaRuntime) => TranslatedScript;
}

/** The answer; a failure as the first word of its message. */
async function settled(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return plain(await work());
  } catch (error) {
    const [code] = (error as Error).message.split(' ', 1);
    // Redis 6.2 hides the code of what a command in a script has failed with.
    return IS_REDIS_7 ? `failed: ${code}` : 'failed';
  }
}

/** Bytes as a text, and a status as its word. */
function plain(reply: unknown): unknown {
  if (Buffer.isBuffer(reply)) return reply.toString('latin1');
  if (Array.isArray(reply)) return reply.map(plain);
  return typeof reply === 'object' && reply !== null && 'ok' in reply ? reply.ok : reply;
}
