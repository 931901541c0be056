import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { DelayQueueModule, DelayQueueProducer, DelayQueueReceiver } from 'nestjs-delay-queue';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LogBook } from '../support/app/log-book.js';
import { report } from '../support/readings/statistics.js';
import { type PrivateRedis, startRedis } from '../support/servers/redis-server.js';

const RECEIVERS = 500;
const MESSAGES = 500;

/** For how long commands are counted, in seconds: those of a heartbeat come together, every four to five seconds. */
const COUNTED = 30;

let server: PrivateRedis;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url, { replyMapping: 'legacy' });
});

afterAll(async () => {
  redis?.disconnect();
  await server?.stop();
});

async function commands(): Promise<number> {
  return Number(/^total_commands_processed:(\d+)/m.exec(await redis.info('stats'))?.[1]);
}

it(
  `${RECEIVERS} that wait cost less than a command a second, and get messages when they are due`,
  { timeout: 120_000 },
  async () => {
    const module = await Test.createTestingModule({ imports: [DelayQueueModule.forRoot({ redis: server.url })] })
      .setLogger(new LogBook())
      .compile();
    const app = await module.init();
    const [producer, receiver] = [app.get(DelayQueueProducer), app.get(DelayQueueReceiver)];
    const lateness: number[] = [];
    const receive = async (): Promise<void> => {
      for (;;) {
        const messages = await receiver.receive('jobs', { wait: '90s', lease: '1m' });
        const now = Date.now();
        if (messages.length === 0) return;
        for (const message of messages) {
          await message.ack();
          // Noted last: once all are, each receives again, and is answered when the application closes.
          lateness.push(now - message.dueAt.getTime());
        }
      }
    };
    const receiving = Array.from({ length: RECEIVERS }, async () => receive());
    // By then it has told the fleet of itself and looked around.
    await sleep(12_000);

    const before = await commands();
    await sleep(COUNTED * 1000);
    // The question itself is one.
    const rate = ((await commands()) - before - 1) / COUNTED;

    const begin = Date.now() + 1000;
    await Promise.all(
      Array.from({ length: MESSAGES }, async (_, i) => producer.publish('jobs', i, { deliverAt: begin + 8 * i })),
    );
    await expect.poll(() => lateness.length, { timeout: 20_000 }).toBe(MESSAGES);
    await app.close();
    await Promise.all(receiving);
    const sorted = lateness.toSorted((a, b) => a - b);
    const [p50, p99] = [0.5, 0.99].map((share) => sorted[Math.floor(share * sorted.length)] as number);
    report(`${RECEIVERS} waiting receivers: ${rate.toFixed(2)} commands/s; late p50 ${p50} ms, p99 ${p99} ms`);

    expect(sorted[0]).toBeGreaterThanOrEqual(0);
    expect(rate).toBeLessThan(1);
    expect(p50).toBeLessThanOrEqual(10);
  },
);
