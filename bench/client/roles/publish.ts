import type { Message } from '../../contenders/contender.js';
import { now } from '../../contenders/contender.js';
import { payload } from '../../contenders/payload.js';
import { pump } from '../pump.js';
import type { RoleContext } from '../role-context.js';

export interface PublishRateOptions {
  readonly topic: string;
  readonly partitions: number;
  /** Total number of messages. */
  readonly messages: number;
  /** Published before by the same publisher, to the same topic, and not counted. */
  readonly warmUp: number;
  /** Messages per call; 1: one by one. */
  readonly perCall: number;
  /** Concurrent calls. */
  readonly inTheAir: number;
  /** Milliseconds until the messages are due; `undefined`: at once. */
  readonly delay?: number | undefined;
  /** How many keys the messages have; `undefined`: each its own. */
  readonly keys?: number | undefined;
  /** Whether messages of one key are handled in order. @defaultValue false */
  readonly ordered?: boolean | undefined;
}

export interface PublishRateResult {
  /** Messages per second. */
  readonly rate: number;
}

/** Publishes messages as fast as possible. */
export async function publish(
  { contender, redisUrl }: RoleContext,
  { topic, partitions, ordered, messages, warmUp, perCall, inTheAir, delay, keys }: PublishRateOptions,
): Promise<PublishRateResult> {
  const publisher = await contender.publisher({ redisUrl, topic, partitions, ordered });
  // The messages are made in advance, so that only the publishing is measured.
  const dueAt = Math.floor(now()) + (delay ?? 0);
  const due = delay === undefined ? undefined : { after: delay };
  const all = Array.from({ length: warmUp + messages }, (_, n): Message => ({
    payload: payload(dueAt, n),
    due,
    ...(keys === undefined ? {} : { key: `key-${n % keys}` }),
  }));
  const publishSome = (from: number, to: number): Promise<void> =>
    perCall === 1
      ? pump(to - from, inTheAir, (n) => publisher.publish(all[from + n] as Message))
      : pump(Math.ceil((to - from) / perCall), inTheAir, (call) =>
          publisher.publishMany(all.slice(from + call * perCall, Math.min(from + (call + 1) * perCall, to))),
        );

  await publishSome(0, warmUp);
  const startedAt = now();
  await publishSome(warmUp, warmUp + messages);
  const seconds = (now() - startedAt) / 1000;
  await publisher.close();
  return { rate: messages / seconds };
}
