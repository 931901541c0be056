import { Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { DelayedHandler, DelayQueueAdmin, type TopicOptions } from 'nestjs-delay-queue';
import { loadIoRedis } from '../../../lib/engines/redis/connection/redis-clients.js';
import { RedisConnection } from '../../../lib/engines/redis/connection/redis-connection.js';
import { BullmqImport } from '../../../tools/import-bullmq/bullmq-import.js';
import type { BullmqQueue } from '../../../tools/import-bullmq/bullmq-queue.js';
import { ImportGoal } from '../../../tools/import-bullmq/import-goal.js';
import { SystemClock } from '../../../lib/time/clock.js';
import type { Bed, RunningApp } from '../app/bed.js';
import { brokerOf } from '../internals.js';
import { Gate } from '../waiting.js';
import { BullmqBed } from './bullmq-bed.js';

export const TOPIC = 'order.timeout';
export const TOPICS: ReadonlySet<string> = new Set([TOPIC]);
export const HOUR = 3_600_000;
export const CALL = { signal: new AbortController().signal, onProgress(): void {} };

const KILLED = 'killed';

const SILENT = { log(): void {}, warn(): void {}, error(): void {} };

export interface Importer {
  readonly topic?: string;
  /** Around each of its calls. */
  readonly calls?: Calls;
  /** @defaultValue that of the stage */
  readonly queue?: BullmqQueue;
}

export interface Stage {
  readonly app: RunningApp;
  readonly admin: DelayQueueAdmin;
  readonly bullmq: BullmqBed;
  readonly queue: BullmqQueue;
  readonly redis: Redis;
  /** How often each order was handled, by whomever. */
  readonly handled: Map<number, number>;
  readonly importer: (importer?: Importer) => BullmqImport;
  /** As an import sees a queue. */
  readonly seen: (bullmq: BullmqBed) => Promise<BullmqQueue>;
}

/** An application that handles the topic, and a queue of BullMQ beside it. */
export async function onStage(
  own: Bed,
  play: (stage: Stage) => Promise<void>,
  defaults: TopicOptions = {},
): Promise<void> {
  const handled = new Map<number, number>();

  @Injectable()
  class Orders {
    @DelayedHandler(TOPIC)
    onTimeout({ order }: { order: number }): void {
      handled.set(order, (handled.get(order) ?? 0) + 1);
    }
  }

  const app = await own.start({ providers: [Orders], options: { defaults } });
  const connections: RedisConnection[] = [];
  const seen = async (bed: BullmqBed): Promise<BullmqQueue> => {
    const connection = new RedisConnection(await loadIoRedis(), bed.connection, SILENT, 5000);
    connections.push(connection);
    await connection.connect();
    return bed.seenThrough(connection);
  };
  const bullmq = new BullmqBed(own.connection, own.prefix);
  const queue = await seen(bullmq);
  const broker = brokerOf(app.nest);
  const importer = ({ topic = TOPIC, calls = new Calls(), queue: other = queue }: Importer = {}): BullmqImport => {
    const fixed = { clock: new SystemClock(), timeout: 5000 };
    const watched = { messages: calls.wrap(broker.messages), fleet: calls.wrap(broker.fleet), now: () => broker.now() };
    const goal = new ImportGoal({ ...fixed, broker: watched, producer: calls.wrap(app.producer) });
    return new BullmqImport({ queue: calls.wrap(other), goal, topic, place: 'here' });
  };
  try {
    await play({ app, admin: app.get(DelayQueueAdmin), bullmq, queue, redis: own.redis, handled, importer, seen });
  } finally {
    for (const connection of connections) connection.close();
    await bullmq.close(own.redis);
  }
}

/** What an import leaves with BullMQ: the job of a scheduler, and one whose id the topic has. */
export async function addJobsThatStay({ app, bullmq }: Stage): Promise<void> {
  await app.producer.publish(TOPIC, {}, { id: 'taken', delay: HOUR });
  await bullmq.add(-1, { jobId: 'taken', delay: HOUR });
  await bullmq.queue.upsertJobScheduler('yearly', { pattern: '0 0 1 1 *' });
}

/** Left jobs in the order of their reasons and examples. */
export function byReason(
  a: { readonly reason: string; readonly example: string },
  b: { readonly reason: string; readonly example: string },
): number {
  return a.reason.localeCompare(b.reason) || a.example.localeCompare(b.example);
}

export const MOMENTS = ['before', 'after'] as const;
export type Moment = (typeof MOMENTS)[number];

/** Tells of each call to what it wraps, which is numbered; what is done then comes before the call, or before its answer. */
export class Calls {
  #calls = 0;
  readonly #at: (call: number, moment: Moment) => Promise<void>;

  constructor(at: (call: number, moment: Moment) => Promise<void> = async () => {}) {
    this.#at = at;
  }

  wrap<T extends object>(target: T): T {
    return new Proxy(target, {
      get: (_, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return async (...args: readonly unknown[]) => {
          const call = ++this.#calls;
          await this.#at(call, 'before');
          const answer: unknown = await Reflect.apply(method as () => Promise<unknown>, target, args);
          await this.#at(call, 'after');
          return answer;
        };
      },
    });
  }
}

/** Ends what it wraps at one of its calls, as a process that is killed. */
export function killedAt(last: number, moment: Moment): Calls {
  return new Calls(async (call, now) => {
    if (call > last || (call === last && (now === moment || now === 'after'))) throw new Error(KILLED);
  });
}

/** Whether an import is {@link killedAt | killed}, rather than to come to its end. */
export async function endsKilled(moving: Promise<unknown>): Promise<boolean> {
  return moving.then(
    () => false,
    (error: Error) => {
      if (error.message === KILLED) return true;
      throw error;
    },
  );
}

/** Stops what it wraps at one of its calls until it is to go on; it may be killed at its next call then. */
export class Stopped extends Calls {
  readonly reached = new Gate();
  readonly #goesOn = new Gate();

  constructor(at: number, moment: Moment, isKilled: boolean) {
    super(async (call, now) => {
      if (call < at || (call === at && moment === 'after' && now === 'before')) return;
      this.reached.open();
      await this.#goesOn.opened;
      if (isKilled && call > at) throw new Error(KILLED);
    });
  }

  /** Whether an import has come to that call, rather than to its end. */
  async isReachedBy(moving: Promise<unknown>): Promise<boolean> {
    return Promise.race([this.reached.opened.then(() => true), moving.then(() => false)]);
  }

  goOn(): void {
    this.#goesOn.open();
  }
}
