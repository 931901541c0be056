/** Its handler calls end, or wait for a moment. */
export const WORK = 'work';

/** Its handler calls last until they are aborted. */
export const HELD = 'held';

/** What a process that is operated from outside is started with, as JSON in its first argument. */
export interface OperatedConfig {
  readonly redisUrl: string;
  readonly prefix: string;
  readonly partitions: number;
  readonly maxIdleWait: number;
  readonly fleetEvents?: boolean;
  readonly deadLetter?: { readonly maxAge?: number; readonly maxCount?: number };
}

/** What a handler is to do with a message, unless all is well again. */
export interface Task {
  readonly does: 'succeed' | 'take-a-while' | 'fail-once' | 'fail' | 'give-up';
  /** Of the error, or for the parent to know the payload by; `#` stands for the number of the message. */
  readonly text?: string;
}

/** Messages that a process publishes. Their ids are the prefix and a number from 0 on. */
export interface Load {
  readonly topic: typeof WORK | typeof HELD;
  readonly idPrefix: string;
  readonly count: number;
  readonly task: Task;
  /** Epoch milliseconds of the first hundred; each other hundred is due a millisecond later. At once without it. */
  readonly deliverAt?: number;
  readonly attempts?: number;
  /** Messages that have no id of their own partition take turns with so many keys. */
  readonly keys?: number;
}

/** What goes on in a process while others look: messages come, fail, move and go again. */
export interface Bustle {
  readonly idPrefix: string;
  /** Some of it waits between these two times, epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  /** Some of it becomes dead letters, too. */
  readonly dying: boolean;
}

/** What the parent asks for. Each is answered by `done` or `failed`. */
export type Request =
  | { readonly kind: 'publish'; readonly load: Load }
  | { readonly kind: 'begin-bustle'; readonly bustle: Bustle }
  | { readonly kind: 'end-bustle' }
  /** To the events of the fleet, which it then reports. */
  | { readonly kind: 'listen' }
  | { readonly kind: 'stop-listening' }
  /** From now on, every handler succeeds. */
  | { readonly kind: 'heal' };

export type NumberedRequest = Request & { readonly number: number };

/** The beginning of a handler call. */
export interface Run {
  readonly id: string;
  readonly partition: number;
  readonly attempt: number;
  readonly text?: string;
  /** Epoch milliseconds with fractions. */
  readonly at: number;
}

/** An event of the fleet, as this process was told it. */
export interface SeenEvent {
  readonly kind: string;
  readonly id: string | undefined;
  /** Of the process where it happened. */
  readonly pid: number;
}

/** What a process tells its parent. */
export type OperatedReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly number: number }
  | { readonly kind: 'failed'; readonly number: number; readonly error: string }
  | { readonly kind: 'runs'; readonly items: readonly Run[] }
  | { readonly kind: 'aborts'; readonly items: readonly { readonly id: string; readonly code: string }[] }
  | { readonly kind: 'deaths'; readonly items: readonly string[] }
  | { readonly kind: 'events'; readonly items: readonly SeenEvent[] }
  | { readonly kind: 'logged'; readonly line: string; readonly at: number };
