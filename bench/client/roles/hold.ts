import type { RoleContext } from '../role-context.js';
import { Countdown } from '../countdown.js';
import { warmUp } from '../warm-up.js';

export interface HoldOptions {
  readonly topic: string;
  readonly partitions: number;
  /** How many messages are in flight at the same time. */
  readonly messages: number;
  /** Messages published and handled before, and not counted. */
  readonly warmUp: number;
}

export interface HoldResult {
  /** Resident memory of this process before it consumed, in bytes. */
  readonly before: number;
  /** Resident memory with all messages in flight. */
  readonly holding: number;
}

/** Takes messages whose handlers never end. */
export async function hold({ contender, redisUrl }: RoleContext, options: HoldOptions): Promise<HoldResult> {
  const { topic, partitions, messages } = options;
  await warmUp(contender, { redisUrl, partitions, messages: options.warmUp, concurrency: 100 });
  const before = process.memoryUsage.rss();
  const remaining = new Countdown(messages);
  const never = new Promise<void>(() => {});
  const settings = { redisUrl, topics: [topic], partitions, concurrency: messages };
  await contender.consumer(settings, () => {
    remaining.count();
    return never;
  });
  await remaining.done;
  return { before, holding: process.memoryUsage.rss() };
}
