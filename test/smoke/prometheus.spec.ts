import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { installWithout } from './support/install-without.js';
import { installOnNest12 } from './support/installations.js';
import { runProgram } from './support/run-program.js';

const PUBLISH = `
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
const metrics = process.argv[2] === 'measured' ? (await import('nestjs-delay-queue/prometheus')).prometheusMetrics() : undefined;
const { REDIS_URL: redis, PREFIX: prefix } = process.env;
const queue = DelayQueueModule.forRoot({ redis, prefix, consumer: false, metrics });
const app = await NestFactory.createApplicationContext(queue, { logger: false });
const { duplicate } = await app.get(DelayQueueProducer).publish('jobs', 1, { id: 'a' });
console.log(duplicate ? 'a duplicate' : 'published');
if (metrics) {
  const { register } = (await import('prom-client')).default;
  console.log((await register.metrics()).match(/^delay_queue_published_total.*$/m)[0]);
}
await app.get(DelayQueueProducer).cancel('jobs', 'a');
await app.close();
`;

const LOAD = `
import { ConfigurationError } from 'nestjs-delay-queue';
import { prometheusMetrics } from 'nestjs-delay-queue/prometheus';
try {
  prometheusMetrics();
} catch (error) {
  console.log(error instanceof ConfigurationError, error.message);
}
`;

async function run(folder: string, program: string, ...args: string[]): Promise<string> {
  const file = join(folder, `${randomUUID()}.mjs`);
  await writeFile(file, program);
  const env = { ...process.env, REDIS_URL: inject('redisUrl'), PREFIX: `smoke-${randomUUID()}` };
  return runProgram(process.execPath, [file, ...args], { cwd: folder, env, timeout: 30_000 });
}

describe('the packed library', () => {
  it('works without prom-client', async () => {
    expect(await run(await installWithout('prom-client'), PUBLISH)).toBe('published');
  }, 120_000);

  it('says what to install where metrics for Prometheus are asked for', async () => {
    expect(await run(await installWithout('prom-client'), LOAD)).toBe(
      "true Metrics for Prometheus need the package 'prom-client'. Install it: npm install prom-client",
    );
  }, 120_000);

  it('tells the registry of prom-client where that is installed', async () => {
    expect((await run(await installOnNest12(), PUBLISH, 'measured')).split('\n')).toEqual([
      'published',
      'delay_queue_published_total{topic="jobs",outcome="created"} 1',
    ]);
  }, 120_000);
});
