import { setPriority } from 'node:os';
import { Redis } from 'ioredis';

/** Commands that take longer than this are recorded, in microseconds. */
const SLOWLOG_THRESHOLD = 200;
const SLOWLOG_LENGTH = 10_000;

/** A `nice` value. */
const USUAL_PRIORITY = 0;
const PREFERRED_PRIORITY = -10;

type SlowLogEntry = readonly [number: number, at: number, microseconds: number, command: readonly string[]];

/** The benchmark's own connection to Redis: empties it between measurements and reads its counters. */
export class RedisProbe {
  readonly #redis: Redis;

  constructor(redisUrl: string) {
    this.#redis = new Redis(redisUrl);
  }

  async version(): Promise<string> {
    const server = await this.#redis.info('server');
    return /^(valkey|redis)_version:(\S+)/m.exec(server)?.slice(1).join(' ') ?? 'unknown';
  }

  /** Synchronous, so that Redis does not free memory in the background during a measurement. */
  async empty(): Promise<void> {
    await this.#redis.flushall('SYNC');
    await this.#redis.call('MEMORY', 'PURGE');
  }

  /** Bytes. */
  async usedMemory(): Promise<number> {
    return this.#number('memory', 'used_memory');
  }

  /** Commands processed since the server started; those of scripts count. */
  async commands(): Promise<number> {
    return this.#number('stats', 'total_commands_processed');
  }

  /** CPU time of the server since it started, in microseconds. */
  async cpu(): Promise<number> {
    const info = await this.#redis.info('cpu');
    const seconds = [...info.matchAll(/^used_cpu_(?:user|sys):([\d.]+)/gm)].map(([, value]) => Number(value));
    return seconds.reduce((sum, value) => sum + value, 0) * 1e6;
  }

  /** Forgets the slow commands so far, and records new ones. */
  async watchSlowCommands(): Promise<void> {
    await this.#redis.config('SET', 'slowlog-log-slower-than', SLOWLOG_THRESHOLD);
    await this.#redis.config('SET', 'slowlog-max-len', SLOWLOG_LENGTH);
    await this.#redis.slowlog('RESET');
  }

  /** The time of the slowest command since then, in milliseconds; 0 if none was slow. */
  async slowestCommand(): Promise<number> {
    const entries = (await this.#redis.slowlog('GET', SLOWLOG_LENGTH)) as readonly SlowLogEntry[];
    // Clearing many entries takes long and makes an entry itself.
    const others = entries.filter(([, , , [command = '']]) => command.toLowerCase() !== 'slowlog');
    return Math.max(0, ...others.map(([, , microseconds]) => microseconds)) / 1000;
  }

  /** Gives Redis priority over other programs during the work, if this user may do that. */
  async preferred<T>(work: () => Promise<T>): Promise<T> {
    const pid = await this.#number('server', 'process_id');
    try {
      setPriority(pid, PREFERRED_PRIORITY);
    } catch {
      return work();
    }
    try {
      return await work();
    } finally {
      setPriority(pid, USUAL_PRIORITY);
    }
  }

  close(): void {
    this.#redis.disconnect();
  }

  async #number(section: string, field: string): Promise<number> {
    const info = await this.#redis.info(section);
    return Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1]);
  }
}
