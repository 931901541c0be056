import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { LogBook } from '../../support/app/log-book.js';
import { type Gateway, TOKEN } from '../../support/gateway/gateway.js';
import { HttpConnection } from '../../support/gateway/http-load.js';
import { startStandaloneGateway } from '../../support/gateway/standalone-gateway.js';
import { percentile, report } from '../../support/readings/statistics.js';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';

const RECEIVERS = 500;
const COUNTED = 30;

let server: PrivateRedis;
let redis: Redis;
let gateway: Gateway;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url, { replyMapping: 'legacy' });
  gateway = await startStandaloneGateway({ redisUrl: server.url, topics: ['jobs'] });
}, 60_000);

afterAll(async () => {
  redis?.disconnect();
  await gateway?.close();
  await server?.stop();
});

async function commands(): Promise<number> {
  return Number(/^total_commands_processed:(\d+)/m.exec(await redis.info('stats'))?.[1]);
}

it(
  `${RECEIVERS} that wait over HTTP cost less than a command a second, and get messages when they are due`,
  { timeout: 120_000 },
  async () => {
    const lateness: number[] = [];
    const connections = await Promise.all(
      Array.from({ length: RECEIVERS }, async () => HttpConnection.open(gateway.url)),
    );
    const request = {
      path: '/v1/topics/jobs/receive',
      headers: { authorization: `Bearer ${TOKEN}` },
      body: { wait: '60s', lease: '1m' },
    };
    const receiving = connections.map(async (connection) => {
      const { body } = await connection.post(request);
      const now = Date.now();
      const { messages } = JSON.parse(body) as { messages: { dueAt: string }[] };
      for (const { dueAt } of messages) lateness.push(now - Date.parse(dueAt));
    });
    // By then it has told the fleet of itself and looked around.
    await sleep(12_000);
    const before = await commands();
    await sleep(COUNTED * 1000);
    // The question itself is one.
    const rate = ((await commands()) - before - 1) / COUNTED;

    const module = await Test.createTestingModule({
      imports: [DelayQueueModule.forRoot({ redis: server.url, consumer: false })],
    })
      .setLogger(new LogBook())
      .compile();
    const app = await module.init();
    const begin = Date.now() + 1000;
    await Promise.all(
      Array.from({ length: RECEIVERS }, async (_, i) =>
        app.get(DelayQueueProducer).publish('jobs', i, { deliverAt: begin + i * 8 }),
      ),
    );
    await Promise.all(receiving);
    await app.close();
    for (const connection of connections) connection.close();

    const [p50, p99] = [percentile(lateness, 0.5), percentile(lateness, 0.99)];
    report(`${RECEIVERS} waiting over HTTP: ${rate.toFixed(2)} commands a second; late p50 ${p50} ms, p99 ${p99} ms`);
    expect(rate).toBeLessThan(1);
    expect(lateness).toHaveLength(RECEIVERS);
    expect(p50).toBeLessThanOrEqual(10);
  },
);
