import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';

const run = promisify(execFile);

/** Milliseconds between two looks whether the server listens. */
const RETRY = 100;

/**
 * A Redis under Valgrind, which counts the instructions that the server executes: about the same on a busy machine as on an idle one, and
 * fifty times slower than without.
 */
export class CountedRedis {
  /** The socket that it listens to. */
  readonly socket: string;
  readonly #folder: string;
  readonly #server: ChildProcess;
  #counts = 0;

  private constructor(folder: string, socket: string, server: ChildProcess) {
    this.#folder = folder;
    this.socket = socket;
    this.#server = server;
  }

  /** @throws if Valgrind or Redis is missing */
  static async start(): Promise<CountedRedis> {
    const folder = await mkdtemp(join(tmpdir(), 'delay-queue-bench-'));
    const socket = join(folder, 'redis.sock');
    const valgrind = ['--tool=callgrind', `--callgrind-out-file=${join(folder, 'count')}`];
    // Its housekeeping is no part of what is counted.
    const redis = [process.env['REDIS_SERVER'] || 'redis-server', '--port', '0', '--save', '', '--hz', '1'];
    const server = spawn('valgrind', [...valgrind, ...redis, '--unixsocket', socket], {
      stdio: 'ignore',
      cwd: folder,
      env: { ...process.env, LC_ALL: 'C' },
    });
    const failed = once(server, 'exit').then(() => Promise.reject(new Error('valgrind did not start Redis.')));
    const probe = new Redis(socket, { maxRetriesPerRequest: null, retryStrategy: () => RETRY });
    probe.on('error', () => {});
    await Promise.race([probe.ping(), failed]).finally(() => probe.disconnect());
    failed.catch(() => {});
    return new CountedRedis(folder, socket, server);
  }

  /** @returns the instructions that the server executes during the work */
  async count(work: () => Promise<void>): Promise<number> {
    await this.#control('--zero');
    await work();
    await this.#control('--dump');
    const dump = await readFile(join(this.#folder, `count.${++this.#counts}`), 'latin1');
    const [, total] = /^(?:summary|totals): (\d+)/m.exec(dump) ?? [];
    if (total === undefined) throw new Error('callgrind has counted nothing.');
    return Number(total);
  }

  async stop(): Promise<void> {
    const ended = once(this.#server, 'exit');
    this.#server.kill('SIGKILL');
    await ended;
    await rm(this.#folder, { recursive: true });
  }

  async #control(what: string): Promise<void> {
    await run('callgrind_control', [what, String(this.#server.pid)]);
  }
}
