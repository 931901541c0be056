import type { Message } from '../../contenders/contender.js';
import { now } from '../../contenders/contender.js';
import { payload } from '../../contenders/payload.js';
import { pump } from '../pump.js';
import type { RoleContext } from '../protocol.js';

export interface PublishRateOptions {
  readonly topic: string;
  readonly partitions: number;
  /** Messages in all. */
  readonly messages: number;
  /** Published before, and not counted. */
  readonly warmUp: number;
  /** Messages a call; 1: one by one. */
  readonly perCall: number;
  /** Calls at the same time. */
  readonly inTheAir: number;
  /** Milliseconds until the messages are due; `undefined`: at once. */
  readonly delay?: number | undefined;
}

export interface PublishRateResult {
  /** Messages a second. */
  readonly rate: number;
}

/** Publishes messages as fast as it goes. */
export async function publish(context: RoleContext, options: PublishRateOptions): Promise<PublishRateResult> {
  const { topic, partitions, messages, warmUp } = options;
  await publishAll(context, { ...options, topic: `${topic}-warm-up`, messages: warmUp });
  const seconds = await publishAll(context, { ...options, topic, partitions });
  return { rate: messages / seconds };
}

/** @returns the seconds that it took */
async function publishAll({ contender, redisUrl }: RoleContext, options: PublishRateOptions): Promise<number> {
  const { topic, partitions, messages, perCall, inTheAir, delay } = options;
  const publisher = await contender.publisher({ redisUrl, topic, partitions });
  // Made beforehand: what takes time from here on is the publishing.
  const dueAt = Math.floor(now()) + (delay ?? 0);
  const due = delay === undefined ? undefined : { after: delay };
  const all = Array.from({ length: messages }, (_, n): Message => ({ payload: payload(dueAt, n), due }));
  const startedAt = now();
  if (perCall === 1) await pump(messages, inTheAir, (n) => publisher.publish(all[n] as Message));
  else {
    await pump(Math.ceil(messages / perCall), inTheAir, (call) =>
      publisher.publishMany(all.slice(call * perCall, (call + 1) * perCall)),
    );
  }
  const seconds = (now() - startedAt) / 1000;
  await publisher.close();
  return seconds;
}
