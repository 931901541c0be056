import type { TestProject } from 'vitest/node';
import { startRedis } from '../servers/redis-server.js';

/** Vitest's global set-up: one Redis for the whole run. It is always started here: that of somebody's shell may have messages. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const redis = await startRedis();
  project.provide('redisUrl', redis.url);
  return () => redis.stop();
}
