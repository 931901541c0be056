import 'reflect-metadata';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { DelayQueueModule, DelayQueueProducer, type ReplicaOptions } from 'nestjs-delay-queue';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ReplicatedRedis, startReplicated } from '../support/servers/replicated-redis.js';

const MESSAGES = 5000;
const ALONE = 200;
const PER_CALL = 500;
const IN_THE_AIR = 500;

/** Of all rounds the best is shown, since a busy host only takes away. */
const ROUNDS = 40;

const REQUIREMENTS: readonly { name: string; replicas: ReplicaOptions | undefined }[] = [
  { name: 'no replica', replicas: undefined },
  { name: 'one replica', replicas: { min: 1, timeout: '5s' } },
  { name: 'two replicas', replicas: { min: 2, timeout: '5s' } },
];

let servers: ReplicatedRedis;
let redis: Redis;

beforeAll(async () => {
  servers = await startReplicated(2);
  redis = new Redis(servers.primary.url);
});

afterAll(async () => {
  redis.disconnect();
  await servers.stop();
});

it('publishes that replicas confirm share their WAITs; what they cost is printed', async () => {
  const publishers = await Promise.all(REQUIREMENTS.map(async (requirement) => Publisher.start(requirement)));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const publisher of publishers) {
      await redis.config('RESETSTAT');
      await publisher.play();
      const [, waits = '0'] = /cmdstat_wait:calls=(\d+)/.exec(await redis.info('commandstats')) ?? [];
      // What is in the air at a time shares a WAIT or two; single publishes have one each.
      expect(Number(waits)).toBeLessThan(ALONE + MESSAGES / 10);
      // The engine has compiled the code in the first round.
      if (round === 0) publisher.forget();
      await redis.flushall();
    }
  }
  console.table(publishers.map((publisher) => publisher.figures()));
  await Promise.all(publishers.map(async (publisher) => publisher.close()));
}, 300_000);

/** An application that publishes, and what its rounds have shown. */
class Publisher {
  readonly #app: INestApplicationContext;
  readonly #name: string;
  readonly #producer: DelayQueueProducer;
  #publish: number[] = [];
  #publishMany: number[] = [];
  #alone: number[] = [];

  private constructor(app: INestApplicationContext, name: string) {
    this.#app = app;
    this.#name = name;
    this.#producer = app.get(DelayQueueProducer);
  }

  static async start({ name, replicas }: (typeof REQUIREMENTS)[number]): Promise<Publisher> {
    @Module({
      imports: [
        DelayQueueModule.forRoot({ redis: servers.primary.url, consumer: false, ...(replicas && { replicas }) }),
      ],
    })
    class App {}
    return new Publisher(await NestFactory.createApplicationContext(App, { logger: false, abortOnError: false }), name);
  }

  async play(): Promise<void> {
    this.#publish.push(await rateOf(MESSAGES, async () => publishConcurrently(this.#producer)));
    this.#publishMany.push(await rateOf(MESSAGES, async () => publishMany(this.#producer)));
    this.#alone.push(await publishAlone(this.#producer));
  }

  forget(): void {
    [this.#publish, this.#publishMany, this.#alone] = [[], [], []];
  }

  figures(): object {
    return {
      'confirmed by': this.#name,
      'publish(), 500 in the air (messages/s)': Math.round(Math.max(...this.#publish)),
      'publishMany() of 500 (messages/s)': Math.round(Math.max(...this.#publishMany)),
      'one publish() alone (ms, median)': Math.min(...this.#alone).toFixed(2),
    };
  }

  async close(): Promise<void> {
    await this.#app.close();
  }
}

async function publishConcurrently(producer: DelayQueueProducer): Promise<void> {
  let left = MESSAGES;
  const publishAll = async (): Promise<void> => {
    while (left-- > 0) await producer.publish('rates', { orderId: left }, { delay: '1h' });
  };
  await Promise.all(Array.from({ length: IN_THE_AIR }, publishAll));
}

async function publishMany(producer: DelayQueueProducer): Promise<void> {
  for (let n = 0; n < MESSAGES; n += PER_CALL) {
    const messages = Array.from({ length: PER_CALL }, (_, i) => ({
      payload: { orderId: n + i },
      options: { delay: '1h' },
    }));
    await producer.publishMany('rates', messages);
  }
}

/** The median of the times that single publishes take, one after another, in milliseconds. */
async function publishAlone(producer: DelayQueueProducer): Promise<number> {
  const times: number[] = [];
  while (times.length < ALONE) {
    const startedAt = performance.now();
    await producer.publish('rates', { orderId: times.length }, { delay: '1h' });
    times.push(performance.now() - startedAt);
  }
  return times.toSorted((a, b) => a - b)[ALONE / 2] as number;
}

/** Per second. */
async function rateOf(count: number, run: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await run();
  return (count / (performance.now() - startedAt)) * 1000;
}
