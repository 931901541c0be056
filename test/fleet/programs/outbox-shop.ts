import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import createKnex, { type Knex } from 'knex';
import { DelayedHandler, type DelayedMessage, DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
import { DelayQueueOutboxModule } from 'nestjs-delay-queue/outbox';
import { knexOutbox } from 'nestjs-delay-queue/outbox/knex';

/** What a shop is started with, as JSON. */
export interface ShopConfig {
  readonly database: Knex.Config;
  readonly redis: string;
  /** Orders that are made at the same time. */
  readonly concurrency: number;
  /** Races that are run at the same time. */
  readonly races: number;
}

const TOPIC = 'shop.timeout';
const RACE = 'shop.race';

const config = JSON.parse(process.argv[2] ?? '{}') as ShopConfig;
const knex = createKnex({
  ...config.database,
  pool: { min: 0, max: config.concurrency + config.races + 15 },
  acquireConnectionTimeout: 5000,
  // It would tell of each connection to a server that was killed.
  log: { warn: () => {}, error: () => {}, debug: () => {} },
});

class Timeouts {
  @DelayedHandler(TOPIC, { lease: '3s', concurrency: 10 })
  async onTimeout({ id }: { id: string }, { attempt }: DelayedMessage): Promise<void> {
    await knex('handled').insert({ order_id: id, attempt });
  }

  @DelayedHandler(RACE, { lease: '3s', concurrency: 10, inbox: true })
  async onRace({ id }: { id: string }, { transaction }: DelayedMessage): Promise<void> {
    await (transaction as Knex.Transaction)('effects').insert({ order_id: id, what: 'timeout' });
  }
}

@Module({
  imports: [
    DelayQueueModule.forRoot({
      redis: config.redis,
      publishTimeout: '2s',
      defaults: { attempts: 1000, backoff: { type: 'fixed', delay: 200 } },
    }),
    DelayQueueOutboxModule.forRoot({ adapter: knexOutbox(knex), required: [TOPIC] }),
  ],
  providers: [Timeouts],
})
class Shop {}

const app = await NestFactory.createApplicationContext(Shop, { logger: false });
const producer = app.get(DelayQueueProducer);

/** Makes an order, of which the database says whether it was made; half of them are to be cancelled long before they are due. */
async function order(): Promise<void> {
  const id = randomUUID();
  const waits = Math.random() < 0.5;
  await knex.transaction(async (trx) => {
    await trx('orders').insert({ id, state: 'open', waits });
    await producer.publish(TOPIC, { id }, { id, delay: waits ? '1h' : Math.round(Math.random() * 500) });
    if (Math.random() < 1 / 3) throw new Error('undone');
  });
  if (!waits) return;
  await sleep(Math.random() * 100);
  await knex.transaction(async (trx) => {
    await trx('orders').where({ id }).update({ state: 'cancelled' });
    await producer.cancel(TOPIC, id);
    if (Math.random() < 1 / 3) throw new Error('undone');
  });
}

/** Pays an order at about the time when its timeout is due, each in a transaction that says that it is the one. */
async function race(): Promise<void> {
  const id = randomUUID();
  const delay = 300;
  const due = performance.now() + delay;
  await knex.transaction(async (trx) => {
    await trx('races').insert({ id });
    await producer.publish(RACE, { id }, { id, delay });
  });
  // Some milliseconds pass until a message that is due is delivered.
  await sleep(due - performance.now() - 10 + Math.random() * 80);
  await knex.transaction(async (trx) => {
    if ((await producer.cancel(RACE, id)) === 'done') return;
    await trx('effects').insert({ order_id: id, what: 'paid' });
  });
}

const closing = new AbortController();
async function repeat(run: () => Promise<void>): Promise<void> {
  // Servers are killed meanwhile.
  while (!closing.signal.aborted) await run().catch(async () => sleep(5));
}

async function close(): Promise<void> {
  await app.close();
  await knex.destroy();
  process.disconnect();
}

const working = [
  ...Array.from({ length: config.concurrency }, async () => repeat(order)),
  ...Array.from({ length: config.races }, async () => repeat(race)),
];
process.once('SIGTERM', () => {
  closing.abort();
  void Promise.all(working).then(() => process.send?.('quiet'));
});
process.once('message', () => void close());
