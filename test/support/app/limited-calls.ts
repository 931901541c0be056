import { Injectable } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage, type TopicOptions } from 'nestjs-delay-queue';
import type { Bed, RunningApp } from './bed.js';

/** The limited topic of these tests. */
export const TOPIC = 'calls';
export const PARTITIONS = 4;

/** Notes when each call began, and how many ran at once, in all applications of a test. */
export class Calls {
  readonly begun: { readonly id: string; readonly key: string; readonly at: number }[] = [];
  #running = 0;
  mostAtOnce = 0;
  respond: (message: DelayedMessage) => unknown = () => undefined;

  async take(message: DelayedMessage): Promise<void> {
    this.begun.push({ id: message.id, key: message.key, at: performance.now() });
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#running);
    try {
      await this.respond(message);
    } finally {
      this.#running--;
    }
  }

  get ids(): string[] {
    return this.begun.map(({ id }) => id);
  }

  /** Of these keys. */
  of(keys: readonly string[]): string[] {
    return this.begun.filter(({ key }) => keys.includes(key)).map(({ id }) => id);
  }

  /** The most calls, of a key if one is given, that began within so many milliseconds. */
  mostWithin(milliseconds: number, key?: string): number {
    const times = this.begun.filter((call) => key === undefined || call.key === key).map(({ at }) => at);
    return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + milliseconds - 1).length));
  }
}

/** An application whose handler calls are noted with those of others. */
export async function startLimited(
  bed: Bed,
  calls: Calls,
  topic: TopicOptions = {},
  consumer: { readonly maxIdleWait: string } = { maxIdleWait: '1m' },
): Promise<RunningApp> {
  @Injectable()
  class Worker {
    @DelayedHandler(TOPIC, { backoff: { type: 'fixed', delay: 20 } })
    async handle(_payload: unknown, message: DelayedMessage): Promise<void> {
      await calls.take(message);
    }
  }
  return bed.start({
    providers: [Worker],
    // What is not told comes only with a heartbeat, which is later than tests wait.
    options: { topics: { [TOPIC]: { partitions: PARTITIONS, ...topic } }, consumer },
  });
}

export async function publish(app: RunningApp, count: number, keys?: number): Promise<void> {
  const messages = Array.from({ length: count }, (_, n) => ({
    payload: n,
    options: { id: `m${n}`, ...(keys === undefined ? {} : { key: `k${n % keys}` }) },
  }));
  await app.producer.publishMany(TOPIC, messages);
}
