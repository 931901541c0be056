import type { TestProject } from 'vitest/node';
import { startRedis } from '../servers/redis-server.js';

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
