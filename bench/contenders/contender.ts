import type { Payload } from './payload.js';

/** The names under which the contenders appear in the report, in the order of its tables. */
export const CONTENDER_NAMES = ['nestjs-delay-queue', 'BullMQ', 'bee-queue', 'bare scripts'] as const;

export type ContenderName = (typeof CONTENDER_NAMES)[number];

/** Messages per call of the bare scripts; the library's maximum. */
export const BARE_BATCH = 200;

/** Called for each message, the same for all contenders. */
export type Handle = (payload: Payload) => Promise<void>;

export interface Message {
  readonly payload: Payload;
  /** A length of time from now, or a point in time, in (epoch) milliseconds; `undefined`: at once. */
  readonly due: { readonly after: number } | { readonly at: number } | undefined;
  /** Only for contenders that have keys. */
  readonly key?: string | undefined;
}

export interface PublisherSettings {
  readonly redisUrl: string;
  readonly topic: string;
  /** Only for contenders that have partitions. */
  readonly partitions: number;
  /** Whether messages of one key are handled in order; only for contenders that have keys. @defaultValue false */
  readonly ordered?: boolean | undefined;
}

export interface ConsumerSettings {
  readonly redisUrl: string;
  readonly topics: readonly string[];
  /** Only for contenders that have partitions. */
  readonly partitions: number;
  /** Whether messages of one key are handled in order; only for contenders that have keys. @defaultValue false */
  readonly ordered?: boolean | undefined;
  /** Concurrent handler calls, in this process and for each topic. */
  readonly concurrency: number;
  /** Only for contenders that keep finished messages on demand: how many of each partition. @defaultValue none */
  readonly finished?: number | undefined;
}

export interface Publisher {
  publish(message: Message): Promise<unknown>;
  publishMany(messages: readonly Message[]): Promise<unknown>;
  close(): Promise<void>;
}

export interface Consumer {
  /** When it was connected and began to consume, according to {@link now}. */
  readonly startedAt: number;
  close(): Promise<void>;
}

/**
 * A queue as its users would configure it for speed. Both methods connect, and resolve once the contender works; any later
 * error ends the process, since it spoils the measurement.
 */
export interface Contender {
  publisher(settings: PublisherSettings): Promise<Publisher>;
  consumer(settings: ConsumerSettings, handle: Handle): Promise<Consumer>;
}

/** This process's clock, epoch milliseconds with fractions. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}

/** For errors that a client library reports by an event. */
export function endProcess(error: Error): never {
  console.error(error);
  process.exit(1);
}
