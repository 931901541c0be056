// A process of the benchmark of the outbox: an application that writes, or that relays. Its parent passes the order as JSON.
import 'reflect-metadata';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import createKnex, { type Knex } from 'knex';
import { DelayQueueEvents, DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
import { DelayQueueOutboxModule } from 'nestjs-delay-queue/outbox';
import { knexOutbox } from 'nestjs-delay-queue/outbox/knex';

/** What a process is to do; it tells of its result when it is done, a relay when it is told to finish. */
export interface ShopOrder {
  readonly database: Knex.Config;
  readonly redis: string;
  readonly work:
    | { readonly kind: 'relay' }
    /** Publishes so many rows, in few transactions. */
    | { readonly kind: 'fill'; readonly rows: number }
    /** Makes orders at a rate, each with a publish in its transaction. */
    | { readonly kind: 'pace'; readonly perSecond: number; readonly time: number }
    /** Makes as many orders as it can. */
    | { readonly kind: 'rush'; readonly writers: number; readonly time: number; readonly publishes: boolean };
}

/** Times are epoch milliseconds with fractions, alike in all processes of a machine. */
export interface ShopResult {
  /** When each message reached Redis, or its transaction was committed. */
  readonly times: readonly (readonly [id: string, at: number])[];
  /** CPU time of the process, in microseconds. */
  readonly cpu: number;
}

const TOPIC = 'bench';
const BATCH = 1000;

/** Transactions that are open at once at a given rate. */
const MOST_OPEN = 20;

/** Before it counts: the engine compiles, and connections are opened. In milliseconds. */
const WARM_UP = 2000;

const { database, redis, work } = JSON.parse(process.argv[2] ?? '{}') as ShopOrder;
const knex = createKnex({ ...database, pool: { min: 2, max: MOST_OPEN } });

@Module({
  imports: [DelayQueueModule.forRoot({ redis }), DelayQueueOutboxModule.forRoot({ adapter: knexOutbox(knex) })],
})
class Shop {}

const app = await NestFactory.createApplicationContext(Shop, { logger: ['error'] });
await app.init();
const producer = app.get(DelayQueueProducer);
const times: [string, number][] = [];
let cpu = process.cpuUsage();
let made = 0;

const now = (): number => performance.timeOrigin + performance.now();

function begin(): void {
  times.length = 0;
  cpu = process.cpuUsage();
}

async function order(publishes: boolean): Promise<void> {
  const id = `${process.pid}-${made++}`;
  await knex.transaction(async (trx) => {
    await trx('orders').insert({ id, state: 'open' });
    if (publishes) await producer.publish(TOPIC, { orderId: id }, { id, delay: '1h' });
  });
  times.push([id, now()]);
}

async function relay(): Promise<void> {
  app.get(DelayQueueEvents).published.subscribe(({ id }) => times.push([id, now()]));
  process.send?.('ready');
  await once(process, 'message');
}

async function fill(rows: number): Promise<void> {
  for (let from = 0; from < rows; from += BATCH) {
    const length = Math.min(BATCH, rows - from);
    await knex.transaction(async () =>
      producer.publishMany(
        TOPIC,
        Array.from({ length }, (_, i) => ({
          payload: { orderId: `${from + i}` },
          options: { id: `${from + i}`, delay: '1h' },
        })),
      ),
    );
  }
}

async function pace(perSecond: number, time: number): Promise<void> {
  const open = new Set<Promise<void>>();
  const run = async (for_: number): Promise<void> => {
    const start = performance.now();
    let begun = 0;
    for (let passed = 0; passed < for_; passed = performance.now() - start) {
      for (; begun < (passed / 1000) * perSecond; begun++) {
        const one: Promise<void> = order(true).finally(() => open.delete(one));
        open.add(one);
      }
      await sleep(1);
    }
    await Promise.all(open);
  };
  await run(WARM_UP);
  begin();
  await run(time);
}

async function rush(writers: number, time: number, publishes: boolean): Promise<void> {
  const run = async (for_: number): Promise<void> => {
    const end = performance.now() + for_;
    const write = async (): Promise<void> => {
      while (performance.now() < end) await order(publishes);
    };
    await Promise.all(Array.from({ length: writers }, write));
  };
  await run(WARM_UP);
  begin();
  await run(time);
}

if (work.kind === 'relay') await relay();
else if (work.kind === 'fill') await fill(work.rows);
else if (work.kind === 'pace') await pace(work.perSecond, work.time);
else await rush(work.writers, work.time, work.publishes);
const { user, system } = process.cpuUsage(cpu);
process.send?.({ times, cpu: user + system } satisfies ShopResult);
await app.close();
await knex.destroy();
process.disconnect();
