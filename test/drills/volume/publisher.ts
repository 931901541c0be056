import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayQueueAdmin, DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
import { PREFIX, TOPIC } from '../../fleet/faults/programs/config.js';
import { CompactRecorder } from './compact-records.js';
import type { VolumePublisherConfig } from './config.js';

const GROUP = 250;
const MAX_DELAY = 2000;

/** How many messages may wait, so that publishing does not run away from handling. */
const MOST_WAITING = 100_000;

/** How many groups are published between two looks at how many wait. */
const GROUPS_A_LOOK = 80;

const { redis, partitions, historyFile, count } = JSON.parse(process.argv[2] ?? '{}') as VolumePublisherConfig;
const recorder = new CompactRecorder(historyFile);

@Module({
  imports: [
    DelayQueueModule.forRoot({
      redis,
      prefix: PREFIX,
      topics: { [TOPIC]: { partitions } },
      consumer: false,
    }),
  ],
})
class PublisherModule {}

const app = await NestFactory.createApplicationContext(PublisherModule, { logger: ['error'] });
const producer = app.get(DelayQueueProducer);
const admin = app.get(DelayQueueAdmin);
// The parent process has died.
process.on('disconnect', () => process.exit(1));
process.send?.('ready');

for (let first = 0, groups = 1; first < count; first += GROUP, groups++) {
  const numbers = Array.from({ length: Math.min(GROUP, count - first) }, (_, i) => first + i);
  await publish(numbers);
  if (groups % GROUPS_A_LOOK === 0) while ((await waiting()) > MOST_WAITING) await sleep(50);
}
await app.close();
process.exit();

/** A group whose outcome is not known is left unconfirmed. */
async function publish(numbers: readonly number[]): Promise<void> {
  const messages = numbers.map((number) => ({
    payload: { number },
    options: { id: String(number), delay: Math.floor(Math.random() * MAX_DELAY) },
  }));
  const published = await producer.publishMany(TOPIC, messages).catch(() => []);
  await Promise.all(published.map(({ id, dueAt }) => recorder.record('confirmed', Number(id), 0, dueAt.getTime())));
}

async function waiting(): Promise<number> {
  try {
    const { scheduled, inFlight } = await admin.stats(TOPIC);
    return scheduled + inFlight;
  } catch {
    return Infinity;
  }
}
