import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  type CancelResult,
  DelayQueueError,
  DelayQueueModule,
  DelayQueueProducer,
  type PublishOptions,
} from 'nestjs-delay-queue';
import { Recorder } from '../history/recorder.js';
import { type Command, PREFIX, type PublisherConfig, TOPIC } from './config.js';
import { only } from './only.js';

const config = JSON.parse(process.argv[2] ?? '{}') as PublisherConfig;
const { name, redis, partitions, rate, count = Infinity, keys, minDelay = 0, maxDelay, cancellations, twins } = config;
const recorder = new Recorder(config.historyFile, name, config.clockBase);

/** Least delay of a message that is published twice, so that the first still exists when the second comes; ms. */
const TWIN_DELAY = 1000;

/** Groups of messages per second. */
const GROUPS_PER_SECOND = 50;

@Module({
  imports: [
    DelayQueueModule.forRoot({
      redis,
      prefix: PREFIX,
      topics: { [TOPIC]: { partitions, ...only(config, ['ordered']) } },
      consumer: false,
      ...only(config, ['publishTimeout']),
    }),
  ],
})
class PublisherModule {}

const app = await NestFactory.createApplicationContext(PublisherModule, { logger: ['error', 'warn'] });
const producer = app.get(DelayQueueProducer);
const finished = new AbortController();
process.on('message', (command: Command) => {
  if (command === 'finish') finished.abort();
});
// The parent process has died.
process.on('disconnect', () => process.exit(1));
process.send?.('ready');

const pending = new Set<Promise<void>>();
for (let n = 0; n < count && !finished.signal.aborted;) {
  for (let i = 0; i < rate / GROUPS_PER_SECOND && n < count; i++) {
    const publishing = publishOne(n++).finally(() => pending.delete(publishing));
    pending.add(publishing);
  }
  await sleep(1000 / GROUPS_PER_SECOND);
}
await Promise.all(pending);
await app.close();
process.exit();

async function publishOne(n: number): Promise<void> {
  const id = `${name}-${n}`;
  const key = keys === undefined ? {} : { key: `key-${n % keys}` };
  if (Math.random() < twins) {
    await Promise.all([publish({ id, ...key, delay: TWIN_DELAY }), publish({ id, ...key, delay: TWIN_DELAY })]);
    return;
  }
  const delay = minDelay + Math.random() * (maxDelay - minDelay);
  if ((await publish({ id, ...key, delay })) && Math.random() < cancellations) await cancel(id);
}

/** @returns whether it was confirmed */
async function publish(options: PublishOptions & { id: string }): Promise<boolean> {
  const { id, key } = options;
  recorder.record({ kind: 'publish-called', id });
  try {
    const { dueAt } = await producer.publish(TOPIC, { id }, options);
    recorder.record({ kind: 'publish-confirmed', id, dueAt: dueAt.getTime(), key });
    return true;
  } catch (error) {
    recorder.record({ kind: 'publish-failed', id, code: codeOf(error) });
    return false;
  }
}

async function cancel(id: string): Promise<void> {
  const result = (await producer.cancel(TOPIC, id).catch(() => 'unknown')) as CancelResult | 'unknown';
  recorder.record({ kind: 'cancelled', id, result });
}

function codeOf(error: unknown): string {
  return error instanceof DelayQueueError ? error.code : String(error);
}
