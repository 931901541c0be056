import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { TestProject } from 'vitest/node';

/** A Redis server of a test's own. */
export interface PrivateRedis {
  readonly port: number;
  readonly url: string;
  stop(): Promise<void>;
}

/** Vitest's global set-up: one Redis for the whole run, given by `REDIS_URL` or started here. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env['REDIS_URL'];
  if (given) {
    project.provide('redisUrl', given);
    return undefined;
  }
  const redis = await startRedis();
  project.provide('redisUrl', redis.url);
  return () => redis.stop();
}

/** Starts a Redis on a free port of the loopback interface, without persistence. */
export async function startRedis(args: readonly string[] = []): Promise<PrivateRedis> {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'delay-queue-test-'));
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder, ...args];
  const server = spawn('redis-server', options, { stdio: 'ignore' });
  const exited = once(server, 'exit');
  const probe = new Redis({ port, host: '127.0.0.1', maxRetriesPerRequest: null, retryStrategy: () => 20 });
  probe.on('error', () => {});
  await Promise.race([probe.ping(), exited.then(() => Promise.reject(new Error('redis-server did not start')))]);
  probe.disconnect();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      server.kill('SIGKILL');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
