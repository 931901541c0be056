import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';
import type { Servers } from './servers.js';

/** One Redis. */
export class OneRedis implements Servers {
  private constructor(readonly server: PrivateRedis) {}

  static async start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<OneRedis> {
    return new OneRedis(await startRedis(args, env));
  }

  get address(): string {
    return this.server.url;
  }

  async flush(): Promise<void> {
    await this.server.ask(async (client) => client.flushall());
  }

  async stop(): Promise<void> {
    await this.server.stop();
  }
}

/** A Redis whose clock a drill sets: the machine's, and a difference to it that faketime reads from a file. */
export class RedisWithClock implements Servers {
  readonly #offsetFile: string;

  private constructor(
    readonly redis: OneRedis,
    offsetFile: string,
  ) {
    this.#offsetFile = offsetFile;
  }

  /**
   * @param library the path of faketime's library
   * @param folder where to keep the difference
   */
  static async start(library: string, folder: string, args: readonly string[]): Promise<RedisWithClock> {
    const offsetFile = join(folder, 'server-clock');
    writeFileSync(offsetFile, '+0');
    const faked = fakedClock(library);
    const env = {
      ...faked,
      // Debian's Redis uses jemalloc, which asks for the time before faketime is ready, and both wait for each other. With the
      // allocator of libc in front of it, it is not used.
      LD_PRELOAD: `${faked.LD_PRELOAD} libc.so.6`,
      FAKETIME_TIMESTAMP_FILE: offsetFile,
      FAKETIME_NO_CACHE: '1',
    };
    return new RedisWithClock(await OneRedis.start(args, env), offsetFile);
  }

  get address(): string {
    return this.redis.address;
  }

  /** @param offset how far it is ahead of the machine's from now on, in milliseconds */
  setClock(offset: number): void {
    const seconds = offset / 1000;
    // The server reads the file all the time, so it is replaced as a whole.
    writeFileSync(`${this.#offsetFile}.new`, seconds < 0 ? String(seconds) : `+${seconds}`);
    renameSync(`${this.#offsetFile}.new`, this.#offsetFile);
  }

  async stop(): Promise<void> {
    await this.redis.stop();
  }
}

/** The environment of a process whose time of day is faked. Its timers go by the monotonic clock, which is not. */
export function fakedClock(library: string): { LD_PRELOAD: string; FAKETIME_DONT_FAKE_MONOTONIC: string } {
  return { LD_PRELOAD: library, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}
