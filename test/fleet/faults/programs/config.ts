import type { RedisSettings } from 'nestjs-delay-queue';

/** The configuration of a program, as JSON in its first argument. */
export interface ProgramConfig {
  readonly name: string;
  readonly redis: RedisSettings;
  readonly historyFile: string;
  readonly partitions: number;
  /** What to add to the machine's monotonic clock to stamp records; without it, they have the time of day. */
  readonly clockBase?: number;
}

/** What is not given is the library's default. */
export interface ConsumerConfig extends ProgramConfig {
  readonly lease?: number;
  readonly maxIdleWait?: number;
  readonly attempts?: number;
  readonly concurrency?: number;
  /** Handlers take a random time up to this, in milliseconds. */
  readonly handlerTime: number;
  /** Share of the calls that throw, 0 to 1. */
  readonly failures: number;
  /** @defaultValue false */
  readonly fleetEvents?: boolean;
  /** How many applications the process runs, each with its own connections and its own name. @defaultValue 1 */
  readonly applications?: number;
  /** Whether to record a health report every second. */
  readonly watchesHealth?: boolean;
}

export interface PublisherConfig extends ProgramConfig {
  /** Messages per second. */
  readonly rate: number;
  /** Delays are random from this, in milliseconds. @defaultValue 0 */
  readonly minDelay?: number;
  /** Delays are random up to this, in milliseconds. */
  readonly maxDelay: number;
  readonly publishTimeout?: number;
  /** Share of the messages that are cancelled soon after. */
  readonly cancellations: number;
  /** Share of the messages that are published twice at once; one of the two has to be refused. */
  readonly twins: number;
}

/** The prefix and topic of every run; each run has its own Redis. */
export const PREFIX = 'faults';
export const TOPIC = 'work';

/** Sent to a program over its channel. */
export type Command = 'finish' | { readonly block: number };
