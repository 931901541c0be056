import { setTimeout as sleep } from 'node:timers/promises';
import type { Message, Publisher } from '../../contenders/contender.js';
import { now } from '../../contenders/contender.js';
import { payload } from '../../contenders/payload.js';
import { pump } from '../pump.js';
import type { RoleContext } from '../role-context.js';
import { BATCH } from '../warm-up.js';

/** Concurrent calls. */
const IN_THE_AIR = 4;

/** How long before the first due time the last message has to be in Redis, in milliseconds. */
const REST = 200;

export interface LoadOptions {
  readonly topics: readonly string[];
  readonly partitions: number;
  readonly messages: number;
  /** Milliseconds from now until the first message is due; `undefined`: all are due at once. */
  readonly lead?: number | undefined;
  /** Milliseconds between the due times of two messages. */
  readonly step?: number | undefined;
  /** Publishes each message separately, this many milliseconds before it is due; `undefined`: all at the beginning. */
  readonly ahead?: number | undefined;
}

export interface LoadResult {
  /** Epoch milliseconds. */
  readonly firstDueAt: number;
}

/** Publishes messages for another process to handle. */
export async function load(context: RoleContext, options: LoadOptions): Promise<LoadResult> {
  const { contender, redisUrl } = context;
  const { topics, partitions, lead, ahead } = options;
  const publishers = await Promise.all(topics.map((topic) => contender.publisher({ redisUrl, topic, partitions })));
  const firstDueAt = Math.ceil(now() + (lead ?? 0));
  if (ahead === undefined) await loadAtOnce(publishers, options, firstDueAt);
  else await loadOverTime(publishers, options, firstDueAt, ahead);
  await Promise.all(publishers.map((publisher) => publisher.close()));
  return { firstDueAt };
}

async function loadAtOnce(publishers: readonly Publisher[], options: LoadOptions, firstDueAt: number): Promise<void> {
  const { messages, lead } = options;
  await pump(Math.ceil(messages / BATCH), IN_THE_AIR, (call) => {
    const first = call * BATCH;
    const count = Math.min(BATCH, messages - first);
    const batch = Array.from({ length: count }, (_, i) => messageOf(first + i, firstDueAt, options));
    return publisherOf(publishers, call).publishMany(batch);
  });
  const rest = firstDueAt - now();
  if (lead !== undefined && rest < REST) {
    throw new Error(`${messages} messages were published ${(REST - rest).toFixed()} ms too late.`);
  }
}

async function loadOverTime(
  publishers: readonly Publisher[],
  options: LoadOptions,
  firstDueAt: number,
  ahead: number,
): Promise<void> {
  const calls: Promise<unknown>[] = [];
  for (let n = 0; n < options.messages; n++) {
    const message = messageOf(n, firstDueAt, options);
    const wait = message.payload.dueAt - ahead - now();
    if (wait > 0) await sleep(wait);
    calls.push(publisherOf(publishers, n).publish(message));
  }
  await Promise.all(calls);
}

function messageOf(n: number, firstDueAt: number, { lead, step = 0 }: LoadOptions): Message {
  const dueAt = firstDueAt + n * step;
  return { payload: payload(dueAt, n), due: lead === undefined ? undefined : { at: dueAt } };
}

function publisherOf(publishers: readonly Publisher[], n: number): Publisher {
  return publishers[n % publishers.length] as Publisher;
}
