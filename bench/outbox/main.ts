// Measures the outbox on a database server of its own. scripts/bench-outbox.mjs starts this and passes the address of an empty Redis.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import type { Knex } from 'knex';
import { outboxDdl } from '../../lib/outbox/table/ddl.js';
import { DatabaseServer } from '../../test/support/servers/database-server.js';
import { until } from '../../test/support/waiting.js';
import type { ShopOrder, ShopResult } from './shop.js';

const PROGRAM = fileURLToPath(new URL('shop.js', import.meta.url));

const TIME = 8000;
const RATE = 500;
const ROWS = 40_000;
const WRITERS = 16;

type Sample = Readonly<Record<string, number>>;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'latency,fill,cost' },
    runs: { type: 'string', default: '3' },
    dialect: { type: 'string', default: 'postgres' },
    shards: { type: 'string', default: '1' },
  },
});
const dialect = values.dialect === 'mysql' ? 'mysql' : 'postgres';
const redisUrl = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
const redis = new Redis(redisUrl);
const server = await DatabaseServer.start(dialect);
const knex = server.connect();

const FIGURES: Readonly<Record<string, () => Promise<Sample>>> = { latency, fill, cost };

try {
  for (const name of values.only.split(',')) await measure(name, FIGURES[name]);
} finally {
  await knex.destroy();
  await server.stop();
  redis.disconnect();
}

async function measure(name: string, figure: (() => Promise<Sample>) | undefined): Promise<void> {
  if (!figure) throw new Error(`There is no figure '${name}'. There are: ${Object.keys(FIGURES).join(', ')}.`);
  const samples: Sample[] = [];
  for (let run = 0; run < Number(values.runs); run++) {
    const sample = await figure();
    samples.push(sample);
    console.log(`${name} ${run + 1}: ${textOf(sample)}`);
  }
  const median = (key: string): number =>
    quantile(
      samples.map((sample) => sample[key] ?? NaN),
      0.5,
    );
  console.log(
    `${name}, medians: ${textOf(Object.fromEntries(Object.keys(samples[0] ?? {}).map((key) => [key, median(key)])))}`,
  );
}

/** From the commit until Redis has the message, while orders are made at a rate. */
async function latency(): Promise<Sample> {
  await empty();
  const relay = await startRelay();
  const { times, cpu } = await play({ kind: 'pace', perSecond: RATE, time: TIME });
  await drained();
  const relayed = await relay.finish();
  const reached = new Map(relayed.times);
  const waits = times.map(([id, at]) => (reached.get(id) ?? NaN) - at);
  return {
    'p50 ms': quantile(waits, 0.5),
    'p99 ms': quantile(waits, 0.99),
    'max ms': quantile(waits, 1),
    'relay cpu us/row': relayed.cpu / relayed.times.length,
    'writer cpu us/row': cpu / times.length,
  };
}

/** Rows that wait, and are brought to Redis by one relay. */
async function fill(): Promise<Sample> {
  await empty();
  await knex(`delay_queue_outbox_shards`).update({ owner: 'nobody', lease_until: Number.MAX_SAFE_INTEGER });
  await play({ kind: 'fill', rows: ROWS });
  await knex(`delay_queue_outbox_shards`).update({ lease_until: 0 });
  const relay = await startRelay();
  await drained();
  const { times, cpu } = await relay.finish();
  const at = times.map(([, time]) => time);
  const took = Math.max(...times.slice(-1).map(([, time]) => time)) - (at[0] ?? 0);
  return { 'rows/s': ROWS / (took / 1000), 'relay cpu us/row': cpu / ROWS };
}

/** Transactions of writers that do as many as they can, without an outbox and with one. */
async function cost(): Promise<Sample> {
  await empty();
  const without = await play({ kind: 'rush', writers: WRITERS, time: TIME, publishes: false });
  await empty();
  await knex(`delay_queue_outbox_shards`).update({ owner: 'nobody', lease_until: Number.MAX_SAFE_INTEGER });
  const written = await play({ kind: 'rush', writers: WRITERS, time: TIME, publishes: true });
  await empty();
  const relay = await startRelay();
  const relayed = await play({ kind: 'rush', writers: WRITERS, time: TIME, publishes: true });
  await relay.finish();
  const rate = ({ times }: ShopResult): number => times.length / (TIME / 1000);
  return {
    'without /s': rate(without),
    'not relayed /s': rate(written),
    'relayed /s': rate(relayed),
    'loss of rows %': 100 * (1 - rate(written) / rate(without)),
    'loss %': 100 * (1 - rate(relayed) / rate(without)),
  };
}

async function empty(): Promise<void> {
  await redis.flushall();
  for (const table of ['delay_queue_outbox', 'delay_queue_outbox_shards', 'delay_queue_inbox', 'orders'])
    await knex.schema.dropTableIfExists(table);
  for (const statement of outboxDdl(dialect, { shards: Number(values.shards) }).split(/;$/m))
    if (statement.trim() !== '') await knex.raw(statement);
  await knex.schema.createTable('orders', (table) => {
    table.string('id', 64).primary();
    table.string('state', 16);
  });
}

async function drained(): Promise<void> {
  await until('an empty outbox', async () => (await countOfRows(knex)) === 0);
}

async function countOfRows(database: Knex): Promise<number> {
  const rows = await database('delay_queue_outbox').select('seq').limit(1);
  return rows.length;
}

function start(work: ShopOrder['work']): ChildProcess {
  const order: ShopOrder = { database: server.settings, redis: redisUrl, work };
  return fork(PROGRAM, [JSON.stringify(order)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

async function play(work: ShopOrder['work']): Promise<ShopResult> {
  return resultOf(start(work));
}

async function resultOf(shop: ChildProcess): Promise<ShopResult> {
  const exited = once(shop, 'exit');
  const result = (await heard(shop)) as ShopResult;
  await exited;
  return result;
}

/** Returns what a process tells next. */
async function heard(shop: ChildProcess): Promise<unknown> {
  const failed = new AbortController();
  const { signal } = failed;
  // Not at its exit: what it has told may come later.
  shop.once('disconnect', () => failed.abort());
  const [message] = (await once(shop, 'message', { signal })) as [unknown];
  return message;
}

/** Starts a relay that has all shards before others do. */
async function startRelay(): Promise<{ readonly finish: () => Promise<ShopResult> }> {
  const shop = start({ kind: 'relay' });
  await heard(shop);
  await until('a relay', async () => {
    const free = await knex('delay_queue_outbox_shards').where({ lease_until: 0 });
    return free.length === 0;
  });
  return {
    finish: async () => {
      shop.send('finish');
      return resultOf(shop);
    },
  };
}

function quantile(some: readonly number[], share: number): number {
  const sorted = some.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

function textOf(sample: Sample): string {
  return Object.entries(sample)
    .map(([key, value]) => `${key} ${value.toFixed(value < 100 ? 1 : 0)}`)
    .join(', ');
}
