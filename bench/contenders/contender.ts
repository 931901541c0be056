import type { Payload } from './payload.js';

/** The names under which the contenders appear in the report, in the order of its tables. */
export const CONTENDER_NAMES = ['nestjs-delay-queue', 'BullMQ', 'bee-queue', 'bare scripts'] as const;

export type ContenderName = (typeof CONTENDER_NAMES)[number];

/** Messages that the bare scripts take a call; the most that the library gives them. */
export const BARE_BATCH = 200;

/** What all contenders do the same with a message. */
export type Handle = (payload: Payload) => Promise<void>;

export interface Message {
  readonly payload: Payload;
  /** A length of time from now, or a point in time, in (epoch) milliseconds; `undefined`: at once. */
  readonly due: { readonly after: number } | { readonly at: number } | undefined;
}

export interface PublisherSettings {
  readonly redisUrl: string;
  readonly topic: string;
  /** Only for contenders that have partitions. */
  readonly partitions: number;
}

export interface ConsumerSettings {
  readonly redisUrl: string;
  readonly topics: readonly string[];
  /** Only for contenders that have partitions. */
  readonly partitions: number;
  /** Handler calls at once, in this process and for each topic. */
  readonly concurrency: number;
}

export interface Publisher {
  publish(message: Message): Promise<unknown>;
  publishMany(messages: readonly Message[]): Promise<unknown>;
  close(): Promise<void>;
}

export interface Consumer {
  /** When it was connected and began to consume, by {@link now}. */
  readonly startedAt: number;
  close(): Promise<void>;
}

/**
 * A queue as its users would set it up for speed. Both methods connect, and resolve once the contender works; whatever goes
 * wrong later ends the process, since a measurement with errors in it is none.
 */
export interface Contender {
  publisher(settings: PublisherSettings): Promise<Publisher>;
  consumer(settings: ConsumerSettings, handle: Handle): Promise<Consumer>;
}

/** This process's clock, epoch milliseconds with fractions. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}

/** For the errors that a client library reports by an event. */
export function endProcess(error: Error): never {
  console.error(error);
  process.exit(1);
}
