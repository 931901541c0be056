/** The configuration of a program of the fleet, as JSON in its first argument. */
export interface ProgramConfig {
  readonly redisUrl: string;
  readonly prefix: string;
  readonly topic: string;
  readonly partitions: number;
}

export interface ConsumerConfig extends ProgramConfig {
  readonly concurrency?: number;
  readonly lease?: number;
  readonly maxIdleWait?: number;
  readonly shutdownTimeout?: number;
  readonly delivery?: 'at-least-once' | 'at-most-once';
  /** How long each handler call takes, in milliseconds. */
  readonly handlerTime?: number;
  /** The id of a message whose handler kills the process. */
  readonly poison?: string;
}

export interface ProducerConfig extends ProgramConfig {
  readonly count: number;
  /** Delays are random from 0 to this, in milliseconds. */
  readonly maxDelay: number;
  /** Publishes are spread over this many milliseconds; 0: as fast as possible. */
  readonly spread: number;
  /** Prefix of every id. */
  readonly idPrefix: string;
}

/** One run of a handler. Times in epoch milliseconds. */
export interface Handled {
  readonly id: string;
  readonly partition: number;
  readonly attempt: number;
  readonly dueAt: number;
  /** Redis TIME when the handler began. */
  readonly redisTime: number;
}

/** A report of a program to its parent. */
export type Report =
  | { readonly kind: 'ready' }
  | { readonly kind: 'handled'; readonly handled: readonly Handled[] }
  | { readonly kind: 'started'; readonly id: string; readonly attempt: number }
  | { readonly kind: 'ownership'; readonly partition: number; readonly owned: boolean; readonly at: number }
  | { readonly kind: 'stale'; readonly id: string; readonly attempt: number }
  | { readonly kind: 'aborted'; readonly id: string; readonly code: string }
  | { readonly kind: 'published'; readonly ids: readonly string[] };
