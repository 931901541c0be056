import type { RedisSettings } from 'nestjs-delay-queue';
import type { TestedLimits } from '../history/limits.js';

export type ProgramKind = 'consumer' | 'publisher';

/** The configuration of a program, as JSON in its first argument. */
export interface ProgramConfig extends TestedLimits {
  readonly name: string;
  readonly redis: RedisSettings;
  readonly historyFile: string;
  readonly partitions: number;
  /** Whether the topic is ordered. @defaultValue false */
  readonly ordered?: boolean;
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
  /** Whether it receives its messages, in place of a handler. @defaultValue false */
  readonly pulls?: boolean;
  /** Whether its messages are pushed to a server of the process, in place of a handler. @defaultValue false */
  readonly pushes?: boolean;
  /** Whether its messages are forwarded through a client of the process, in place of a handler. @defaultValue false */
  readonly forwards?: boolean;
  /** Share of the calls that throw, 0 to 1. */
  readonly failures: number;
  /** Share of the calls that put their message off, 0 to 1. @defaultValue 0 */
  readonly putOffs?: number;
  /** Names of producers whose messages all fail. */
  readonly failsOf?: readonly string[];
  /** Longest run of a handler, in milliseconds. */
  readonly timeout?: number;
  /** Ids of messages with which handlers hang, whatever their signals say. */
  readonly hangsOn?: readonly string[];
  /** The id of a message that kills its process. */
  readonly diesOf?: string;
  /** A message with which a handler meets a rate limit of the topic, within a second after it was published; in milliseconds. */
  readonly meetsLimit?: { readonly id: string; readonly delay: number };
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
  /** How many messages it publishes before it ends by itself. @defaultValue any number, until it is told to end */
  readonly count?: number;
  /** How many keys its messages have. @defaultValue each its own */
  readonly keys?: number;
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

/** What a scenario or a drill says of a program. */
export type ProgramOptions = Omit<ConsumerConfig, keyof ProgramConfig> | Omit<PublisherConfig, keyof ProgramConfig>;

/** The prefix and topic of every run; each run has its own Redis. */
export const PREFIX = 'faults';
export const TOPIC = 'work';

/** Sent to a program over its channel. */
export type Command = 'finish' | { readonly block: number };
