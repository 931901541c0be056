/**
 * Records what a Redis holds that this build has used: every kind of record, each in every state. A later build has to read and drain it, see
 * `test/integration/golden.spec.ts`.
 *
 *     npm run build && node test/golden/record.mjs redis://127.0.0.1:6379 > test/golden/0.1.0.json
 *
 * The Redis has to be empty. All times are short, so that everything has fallen due whenever the record is read.
 */
import { hostname } from 'node:os';

import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import {
  DelayQueueAdmin,
  DelayQueueModule,
  DelayQueueProducer,
  DelayQueueReceiver,
  DelayQueueSchedules,
  DelayedHandler,
  UnrecoverableError,
} from 'nestjs-delay-queue';
import { TOPICS } from './topics.mjs';

const [url] = process.argv.slice(2);
const PREFIX = 'golden';
/** Longer than the recording takes. */
const LONG = '1h';
/** As late as may be: until then the record is of use. */
const NEVER = new Date('2036-11-01T00:00:00Z');

const redis = new Redis(url);
if ((await redis.dbsize()) > 0) throw new Error('The Redis is not empty.');

class Handlers {
  /** What the payload says is done; the rest hangs, and stays in flight. */
  async handle(payload) {
    if (payload.does === 'ack') return undefined;
    if (payload.does === 'fail') throw withoutPlaces(new Error(`${payload.name} fails`));
    if (payload.does === 'die') throw withoutPlaces(new UnrecoverableError(`${payload.name} dies`));
    return new Promise(() => {});
  }
}

/** An error that does not say where this machine keeps its files. */
function withoutPlaces(error) {
  error.stack = `${error.name}: ${error.message}\n    at Handlers.handle (handlers.js:1:1)`;
  return error;
}

const handled = Object.keys(TOPICS).filter((topic) => topic !== 'received' && topic !== 'waiting');
for (const topic of handled) {
  const name = `handle-${topic}`;
  Handlers.prototype[name] = async function (payload) {
    return this.handle(payload);
  };
  const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, name);
  DelayedHandler(topic, { concurrency: 50 })(Handlers.prototype, name, descriptor);
}

const queue = DelayQueueModule.forRoot({
  redis: url,
  prefix: PREFIX,
  topics: TOPICS,
  consumer: { lease: '3s' },
  fleetEvents: true,
  history: { keep: '7d' },
});
const app = await NestFactory.createApplicationContext({ module: Handlers, imports: [queue] }, { logger: false });
const [producer, admin, schedules, receiver] = [
  DelayQueueProducer,
  DelayQueueAdmin,
  DelayQueueSchedules,
  DelayQueueReceiver,
].map((type) => app.get(type));

/** Every message that was published, as `topic`, `id` and `key`. */
const published = [];

async function publish(topic, name, does, options = {}) {
  const { id } = await producer.publish(topic, { name, does }, { id: name, ...options });
  published.push({ topic, id, key: options.key });
}

async function until(what, isSo) {
  for (let tries = 0; tries < 600; tries++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`It did not come about that ${what}.`);
}

const isIn = (topic, id, state, key) => async () => (await admin.get(topic, key ? { id, key } : id))?.state === state;

// ── what waits ──────────────────────────────────────────────────────────────────────────────────────────────────────────

await publish('waiting', 'soon', 'ack');
await publish('waiting', 'never', 'ack', { deliverAt: NEVER });
await publish('waiting', 'long', 'ack', { headers: { of: 'x'.repeat(11_000) } });
await publish('waiting', 'of-a-key', 'ack', { key: 'customer-7', headers: { trace: '7f' } });
await publish('waiting', 'with-options', 'ack', {
  attempts: 5,
  backoff: { type: 'steps', delays: ['1s', '2s'] },
  timeout: '30s',
  expireAfter: '10y',
});
await publish('waiting', 'tagged', 'ack', { tags: ['red', 'blue'] });
await publish('waiting', 'replaced', 'ack', { delay: '1s', onDuplicate: 'replace', maxWait: '2s' });
await producer.publish(
  'waiting',
  { name: 'replaced', does: 'ack', time: 2 },
  { id: 'replaced', delay: '1s', onDuplicate: 'replace', maxWait: '2s' },
);

// ── what is in flight ───────────────────────────────────────────────────────────────────────────────────────────────────

for (const id of ['running', 'cancelled-running', 'replaced-running']) {
  await publish('plain', id, 'hang');
  await until(`${id} runs`, isIn('plain', id, 'in-flight'));
}
await producer.cancel('plain', 'cancelled-running');
await producer.publish(
  'plain',
  { name: 'replaced-running', does: 'ack', time: 2 },
  { id: 'replaced-running', onDuplicate: 'replace' },
);
await publish('received', 'received', 'ack');
// The first one who has it does not come back.
await receiver.receive('received', { lease: '1s', wait: '5s' });
await until('it is received again', async () => (await receiver.receive('received', { lease: '5s' })).length > 0);

// ── what has failed ─────────────────────────────────────────────────────────────────────────────────────────────────────

await publish('plain', 'retrying', 'fail', { attempts: 3, backoff: { type: 'fixed', delay: '2s' } });
await until('retrying has failed', async () => (await admin.get('plain', 'retrying'))?.failure !== undefined);
await publish('plain', 'spent', 'fail', { attempts: 1 });
await publish('plain', 'declared-dead', 'die');
for (const id of ['spent', 'declared-dead']) await until(`${id} is dead`, isIn('plain', id, 'dead'));

// ── order ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

await publish('ordered', 'head', 'hang', { key: 'a' });
for (const id of ['second', 'third']) await publish('ordered', id, 'ack', { key: 'a' });
await publish('ordered', 'not-due', 'ack', { key: 'b', deliverAt: NEVER });
await publish('blocking', 'dead-head', 'die', { key: 'a' });
await until('dead-head is dead', isIn('blocking', 'dead-head', 'dead', 'a'));
await publish('blocking', 'behind-the-dead', 'ack', { key: 'a' });

// ── what has ended ──────────────────────────────────────────────────────────────────────────────────────────────────────

await publish('kept', 'acked', 'ack');
await publish('kept', 'cancelled', 'ack', { delay: LONG });
await producer.cancel('kept', 'cancelled');
for (const id of ['acked', 'cancelled']) await until(`${id} is kept`, isIn('kept', id, 'finished'));
await publish('once', 'handed-out', 'ack');
await until('it is handed out', isIn('once', 'handed-out', 'finished'));

// ── what operators and schedules did ────────────────────────────────────────────────────────────────────────────────────

await admin.pause('paused', { actor: 'an operator' });
await publish('paused', 'while-paused', 'ack');
await admin.hold('held', '3s', { actor: 'an operator' });
await publish('held', 'while-held', 'ack');
for (const rule of [
  { id: 'every', every: '1s' },
  { id: 'cron', cron: '0 3 * * *', timeZone: 'Europe/Berlin', catchUp: 'none' },
  { id: 'paused-one', every: '1d', startAt: NEVER },
  { id: 'over', every: '1s', endAt: new Date(Date.now() + 2500) },
]) {
  await schedules.upsert({ ...rule, topic: 'recurring', payload: { name: rule.id, does: 'ack' } });
}
await schedules.pause('paused-one', { actor: 'an operator' });
await until('one is over', async () => (await schedules.get('over'))?.next === undefined);

// ── limits ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

await publish('limited-keys', 'one-of-a-key', 'hang', { key: 'a' });
await until('one of a key runs', isIn('limited-keys', 'one-of-a-key', 'in-flight', 'a'));
await publish('limited-keys', 'next-of-a-key', 'ack', { key: 'a' });
for (const id of ['begun', 'over-the-rate']) await publish('rated-keys', id, 'hang', { key: 'a' });
await until('one begins', isIn('rated-keys', 'begun', 'in-flight', 'a'));
for (const id of ['permitted', 'not-permitted']) await publish('limited', id, 'hang');
await until('one is permitted', async () => (await admin.stats('limited')).inFlight === 1);

const messages = [];
for (const { topic, id, key } of published) {
  const found = await admin.get(topic, key ? { id, key } : id);
  if (found) messages.push(found);
}
const line = (value) => `  ${JSON.stringify(value)}`;
const keys = Object.entries(await dump()).map(([key, value]) => `${line(key)}: ${JSON.stringify(value)}`);
const lists = Object.entries({ messages, schedules: await schedules.list() }).map(
  ([name, list]) => ` "${name}": [\n${list.map(line).join(',\n')}\n ]`,
);
const text = `{\n${[...lists, ` "keys": {\n${keys.join(',\n')}\n }`].join(',\n')}\n}\n`;
// Sessions are named after it.
process.stdout.write(text.replaceAll(hostname(), 'host'));
// What is in flight is to stay so.
process.exit(0);

/** What is stored, by its key, and for how many milliseconds. Answers to calls are kept for repeats, which nobody makes any more. */
async function dump() {
  const found = {};
  for (const key of (await redis.keys('*')).toSorted()) {
    if (key.includes(':answered:')) continue;
    const ttl = await redis.pttl(key);
    found[key] = { ...(await read(key)), ...(ttl > 0 ? { ttl } : {}) };
  }
  return found;
}

async function read(key) {
  const type = await redis.type(key);
  if (type === 'hash') return { hash: Object.entries(await redis.hgetall(key)) };
  if (type === 'zset') return { zset: pairs(await redis.zrange(key, 0, -1, 'WITHSCORES')) };
  if (type === 'stream') return { stream: await redis.xrange(key, '-', '+') };
  return { string: await redis.get(key) };
}

function pairs(list) {
  return Array.from({ length: list.length / 2 }, (_, n) => list.slice(2 * n, 2 * n + 2));
}
