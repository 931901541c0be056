import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';

/** A Redis server of a test's own, on a free port of the loopback interface. */
export class PrivateRedis {
  readonly port: number;
  readonly #folder: string;
  readonly #args: readonly string[];
  #server: ChildProcess | undefined;

  constructor(port: number, folder: string, args: readonly string[]) {
    this.port = port;
    this.#folder = folder;
    this.#args = args;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts it, again after a {@link kill}; resolves once it answers. */
  async start(): Promise<void> {
    const options = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--dir', this.#folder];
    const server = spawn('redis-server', [...options, ...this.#args], { stdio: 'ignore' });
    this.#server = server;
    const probe = new Redis(this.url, { maxRetriesPerRequest: null, retryStrategy: () => 20 });
    probe.on('error', () => {});
    const failed = once(server, 'exit').then(() => Promise.reject(new Error('redis-server did not start')));
    await Promise.race([probe.ping(), failed]).finally(() => probe.disconnect());
    failed.catch(() => {});
  }

  /** Ends it at once, as a crash would; what it has on disk stays. */
  async kill(): Promise<void> {
    const server = this.#server;
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Starts a Redis without persistence, unless `args` say otherwise. */
export async function startRedis(args: readonly string[] = []): Promise<PrivateRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'delay-queue-test-'));
  const redis = new PrivateRedis(await freePort(), folder, args);
  await redis.start();
  return redis;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
