import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONTENDER_NAMES } from '../../bench/contenders/contender.js';
import type * as BenchFile from '../../bench/harness/bench.js';
import type * as ConsumptionFile from '../../bench/harness/consumption.js';
import { buildBench } from '../../scripts/setup/build.mjs';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';

const MESSAGES = 20;
const WARM_UP = 10;
const TOPICS = { topic: 'bench', topics: ['bench'], partitions: 2 };

describe('each contender of the benchmark', () => {
  let redis: PrivateRedis;
  let bench: BenchFile.Bench;
  let Consumption: typeof ConsumptionFile.Consumption;

  beforeAll(async () => {
    const compiled = resolve(await buildBench(), '..');
    ({ Consumption } = (await import(`${compiled}/harness/consumption.js`)) as typeof ConsumptionFile);
    const { Bench } = (await import(`${compiled}/harness/bench.js`)) as typeof BenchFile;
    // Each measurement begins by deleting everything.
    redis = await startRedis();
    bench = new Bench(redis.url);
  });

  afterAll(async () => {
    bench.close();
    await redis.stop();
  });

  it.each(CONTENDER_NAMES)('publishes and handles: %s', async (name) => {
    const calls = { perCall: 5, inTheAir: 2, messages: MESSAGES, warmUp: WARM_UP };
    const { rate } = await bench.measure(async () => bench.run(name, 'publish', { ...TOPICS, ...calls }));
    expect(rate).toBeGreaterThan(0);

    const handled = await bench.measure(async () => {
      await bench.run(name, 'load', { ...TOPICS, messages: MESSAGES });
      const consumption = await Consumption.start(bench, name, { ...TOPICS, concurrency: 5, warmUp: WARM_UP });
      return consumption.finish(MESSAGES);
    });
    expect(handled).toEqual([expect.objectContaining({ handled: MESSAGES })]);
  });
});
