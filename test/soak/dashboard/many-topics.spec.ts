import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chromiumPath } from '../../../scripts/setup/chromium.mjs';
import { type RunningProgram, installProgram } from '../../support/cli/packed-program.js';
import { StoreKeys } from '../../support/internals.js';
import { report } from '../../support/readings/statistics.js';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';
import { until } from '../../support/waiting.js';

const TOPICS = 1000;
const PARTITIONS = 8;
const MESSAGES = 10_000_000;
const A_PARTITION = MESSAGES / TOPICS / PARTITIONS;

/** Longest until somebody sees the overview, in milliseconds. */
const SHOWN_WITHIN = 2000;

const VIEWERS = 10;

/** For so long they watch, in milliseconds: the overview is looked at twice, since an answer that took long is kept for three minutes. */
const WATCHED = 360_000;

/** What it may cost Redis, of a core. */
const LARGEST_SHARE = 0.01;

/** Entries of a sorted set, one a millisecond from `from` on. */
const FILL = `for i = 0, ARGV[2] - 1 do
  redis.call('ZADD', KEYS[1], ARGV[1] + i, 'm' .. string.format('%d', ARGV[1] + i))
end`;

let server: PrivateRedis;
let redis: Redis;
let browser: Browser;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url, { replyMapping: 'legacy' });
  browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] });
  const keys = new StoreKeys('dq');
  const dueFrom = Date.now() + 3_600_000;
  for (let i = 0; i < TOPICS; i++) {
    const topic = `topic-${i}`;
    await redis.hset(keys.topic(topic).config, { partitions: PARTITIONS, protocol: 2 });
    await redis.hset(keys.fleet.topics, topic, `${PARTITIONS} 2`);
    const all = Array.from({ length: PARTITIONS }, (_, index) => keys.partition({ topic, index }).scheduled);
    await Promise.all(all.map((scheduled) => redis.eval(FILL, 1, scheduled, dueFrom, A_PARTITION)));
  }
}, 300_000);

afterAll(async () => {
  await browser?.close();
  redis?.disconnect();
  await server?.stop();
});

it('the overview is there soon, and costs Redis little however many watch it', { timeout: 2 * WATCHED }, async () => {
  const program = await installProgram();
  const { code } = await program.run(['dashboard', '--port', '0', '--redis', server.url], {
    limit: 2 * WATCHED,
    during: async (running) => {
      const [startedAt, used] = [performance.now(), await coreTime()];
      const url = await until('the dashboard', () => urlIn(running));
      const page = await browser.newPage();
      await page.goto(url);
      // By the clock of the page, which begins with the navigation: asked from here, the question itself would take as long as a look.
      const shown = await page.waitForFunction(
        () => [...document.links].some(({ textContent }) => textContent === 'topic-0') && performance.now(),
      );
      const took = Number(await shown.jsonValue());

      const watching = new AbortController();
      const path = new URL('api/watch?look=api/overview', url);
      for (let i = 1; i < VIEWERS; i++) void fetch(path, { signal: watching.signal }).catch(() => {});
      await sleep(WATCHED);
      const period = performance.now() - startedAt;
      const share = (1000 * ((await coreTime()) - used)) / period;
      const calls = (await scriptCalls()) / TOPICS / PARTITIONS;
      report(
        `overview of ${TOPICS} topics and ${MESSAGES} messages: ${took.toFixed(0)} ms in a browser; ${VIEWERS} viewers: ` +
          `${(100 * share).toFixed(2)} % of a core of Redis, with ${calls.toFixed(1)} calls a partition in ${(period / 60_000).toFixed(0)} minutes`,
      );
      watching.abort();
      running.child.kill('SIGINT');

      expect(took).toBeLessThanOrEqual(SHOWN_WITHIN);
      expect(share).toBeLessThanOrEqual(LARGEST_SHARE);
    },
  });
  // It was there all the time.
  expect(code).toBe(0);
});

function urlIn({ stdout }: RunningProgram): string | undefined {
  return /http:\S+/.exec(stdout)?.[0];
}

/** How many scripts Redis has run. */
async function scriptCalls(): Promise<number> {
  return Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(await redis.info('commandstats'))?.[1] ?? 0);
}

/** Seconds of a core that Redis has used. */
async function coreTime(): Promise<number> {
  const info = await redis.info('cpu');
  const [sys, user] = ['used_cpu_sys', 'used_cpu_user'].map((name) =>
    Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]),
  );
  return (sys ?? NaN) + (user ?? NaN);
}
