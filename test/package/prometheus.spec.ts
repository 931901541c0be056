import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { installOnNest12 } from '../support/package/installations.js';
import { runProgram } from '../support/package/run-program.js';

const PUBLISH = `
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
import { prometheusMetrics } from 'nestjs-delay-queue/prometheus';
import { register } from 'prom-client';
const metrics = prometheusMetrics();
const { REDIS_URL: redis, PREFIX: prefix } = process.env;
const queue = DelayQueueModule.forRoot({ redis, prefix, consumer: false, metrics });
const app = await NestFactory.createApplicationContext(queue, { logger: false });
const { duplicate } = await app.get(DelayQueueProducer).publish('jobs', 1, { id: 'a' });
console.log(duplicate ? 'a duplicate' : 'published');
console.log((await register.metrics()).match(/^delay_queue_published_total.*$/m)[0]);
await app.get(DelayQueueProducer).cancel('jobs', 'a');
await app.close();
`;

async function run(folder: string, program: string): Promise<string> {
  const file = join(folder, `${randomUUID()}.mjs`);
  await writeFile(file, program);
  const env = { ...process.env, REDIS_URL: inject('redisUrl'), PREFIX: `smoke-${randomUUID()}` };
  return runProgram(process.execPath, [file], { cwd: folder, env, timeout: 120_000 });
}

describe('the packed library', () => {
  it('tells the registry of prom-client', async () => {
    expect((await run(await installOnNest12(), PUBLISH)).split('\n')).toEqual([
      'published',
      'delay_queue_published_total{topic="jobs",outcome="created"} 1',
    ]);
  });
});
