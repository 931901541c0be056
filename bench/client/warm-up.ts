import type { Contender, Message } from '../contenders/contender.js';
import { now } from '../contenders/contender.js';
import { payload } from '../contenders/payload.js';
import { Countdown } from './countdown.js';

// Only for this process: several that warm up at the same time must not take each other's messages.
const TOPIC = `warm-up-${process.pid}`;

/** Messages per call if several are published together. */
export const BATCH = 500;

export interface WarmUp {
  readonly redisUrl: string;
  readonly partitions: number;
  readonly messages: number;
  readonly concurrency: number;
}

/** Publishes and handles some messages in a separate topic, so that the engine compiles the contender's code. */
export async function warmUp(contender: Contender, settings: WarmUp): Promise<void> {
  const { redisUrl, partitions, messages } = settings;
  if (messages === 0) return;
  const publisher = await contender.publisher({ redisUrl, partitions, topic: TOPIC });
  for (let first = 0; first < messages; first += BATCH) {
    await publisher.publishMany(messagesDueAtOnce(first, Math.min(BATCH, messages - first)));
  }
  await publisher.close();
  await handleAll(contender, settings);
}

/** @param first number of the first message */
export function messagesDueAtOnce(first: number, count: number): Message[] {
  const dueAt = Math.floor(now());
  return Array.from({ length: count }, (_, i) => ({ payload: payload(dueAt, first + i), due: undefined }));
}

async function handleAll(contender: Contender, { redisUrl, partitions, messages, concurrency }: WarmUp): Promise<void> {
  const remaining = new Countdown(messages);
  const settings = { redisUrl, partitions, topics: [TOPIC], concurrency };
  const consumer = await contender.consumer(settings, async () => remaining.count());
  await remaining.done;
  await consumer.close();
}
