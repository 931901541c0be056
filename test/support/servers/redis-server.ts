import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { folderOfRun, noteProcess } from '../processes/left-processes.js';

/** The server that tests start: the one that `REDIS_SERVER` names, else that of `PATH`. */
export const REDIS_SERVER = process.env['REDIS_SERVER'] || 'redis-server';

/** Whether that server has what came with Redis 7: script flags, pub/sub within a shard, texts that begin with the code. */
export const IS_REDIS_7 = majorOf(REDIS_SERVER) >= 7;

/** Lets a server have the command DEBUG, which an older one has anyway. */
export const WITH_DEBUG: readonly string[] = IS_REDIS_7 ? ['--enable-debug-command', 'yes'] : [];

/** A Redis server of a test's own, on a free port of the loopback interface. */
export class PrivateRedis {
  readonly port: number;
  readonly folder: string;
  readonly #args: readonly string[];
  readonly #env: NodeJS.ProcessEnv;
  #server: ChildProcess | undefined;

  /**
   * @param args all that the server is started with
   * @param env beside the variables of this process
   */
  constructor(port: number, folder: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.port = port;
    this.folder = folder;
    this.#args = args;
    this.#env = env;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts it, again after a {@link kill}; resolves once it answers. */
  async start(): Promise<void> {
    const server = spawn(REDIS_SERVER, this.#args, {
      stdio: 'ignore',
      // Redis 7.2 and newer end at once under a locale that the machine does not have.
      env: { ...process.env, ...this.#env, LC_ALL: 'C' },
    });
    this.#server = server;
    noteProcess(server);
    const probe = new Redis(this.url, { maxRetriesPerRequest: null, retryStrategy: () => 20 });
    probe.on('error', () => {});
    const failed = once(server, 'exit').then(() => Promise.reject(new Error(`${REDIS_SERVER} did not start`)));
    await Promise.race([probe.ping(), failed]).finally(() => probe.disconnect());
    failed.catch(() => {});
  }

  get running(): boolean {
    return this.#server !== undefined && this.#server.exitCode === null && this.#server.signalCode === null;
  }

  /** Asks it something over a connection of its own; rejects if it does not answer. */
  async ask<T>(question: (client: Redis) => Promise<T>): Promise<T> {
    const client = new Redis(this.url, { retryStrategy: () => null });
    client.on('error', () => {});
    return question(client).finally(() => client.disconnect());
  }

  /** Ends it at once, as a crash would; what it has on disk stays. */
  async kill(): Promise<void> {
    const server = this.#server;
    if (!server || !this.running) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  }

  /** Freezes it, or lets it go on. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#server?.kill(name);
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Starts it for the first time; one that does not start leaves nothing. */
  async startOrStop(): Promise<void> {
    try {
      await this.start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }
}

/** A server on a free port, with a folder of its own, that is not started yet. */
export async function newRedis(
  args: (folder: string, port: number) => readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<PrivateRedis> {
  const folder = await mkdtemp(join(folderOfRun(), 'delay-queue-redis-'));
  const port = await freePort();
  return new PrivateRedis(port, folder, args(folder, port), env);
}

/** Starts a Redis without persistence, unless `args` say otherwise. */
export async function startRedis(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<PrivateRedis> {
  const redis = await newRedis((folder, port) => {
    const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
    return [...options, ...args];
  }, env);
  await redis.startOrStop();
  return redis;
}

/** Outgoing connections get other ports, from 32,768 up on Linux. They would take one that is free now before a server has it. */
const PORTS = { first: 10_000, count: 12_768 };
/** A node of a Cluster listens on a second port, which is so much higher. */
const CLUSTER_BUS = 10_000;

// Processes that look for ports at the same time begin far from each other.
let looked = process.pid * 97;

/** A port on which nobody listens, and no node of a Cluster would miss its second one. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + (looked++ % PORTS.count);
    if ((await isFree(port)) && (await isFree(port + CLUSTER_BUS))) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

function majorOf(server: string): number {
  const { stdout } = spawnSync(server, ['--version'], { encoding: 'utf8' });
  return Number(/\bv=(\d+)\./.exec(stdout)?.[1]);
}
