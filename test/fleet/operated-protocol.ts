/** A topic whose handler calls end, at once or after a moment. */
export const WORK = 'work';

/** A topic whose handler calls last until they are aborted. */
export const HELD = 'held';

/** The configuration of an operated process, as JSON in its first argument. */
export interface OperatedConfig {
  readonly redisUrl: string;
  readonly prefix: string;
  readonly partitions: number;
  readonly maxIdleWait: number;
  readonly fleetEvents?: boolean;
  readonly deadLetter?: { readonly maxAge?: number; readonly maxCount?: number };
}

/** What a handler does with a message, until the process is healed. */
export interface Task {
  readonly does: 'succeed' | 'take-a-while' | 'fail-once' | 'fail' | 'give-up';
  /** Text of the error, or by which the parent recognizes the payload; `#` stands for the number of the message. */
  readonly text?: string;
}

/** Messages that a process publishes. Their ids are the prefix and a number from 0 on. */
export interface Load {
  readonly topic: typeof WORK | typeof HELD;
  readonly idPrefix: string;
  readonly count: number;
  readonly task: Task;
  /** Due time of the first hundred, epoch milliseconds; each further hundred is due a millisecond later. Default: at once. */
  readonly deliverAt?: number;
  readonly attempts?: number;
  /** How many keys the messages share in turn; without it they have no key. */
  readonly keys?: number;
}

/** Traffic in a process while others look: messages come, fail, move and go. */
export interface Bustle {
  readonly idPrefix: string;
  /** Some messages wait between these two times, epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  /** Whether some messages become dead letters. */
  readonly dying: boolean;
}

/** A request of the parent; the answer is `done` or `failed`. */
export type Request =
  | { readonly kind: 'publish'; readonly load: Load }
  | { readonly kind: 'begin-bustle'; readonly bustle: Bustle }
  | { readonly kind: 'end-bustle' }
  /** Listen to the events of the fleet and report them. */
  | { readonly kind: 'listen' }
  | { readonly kind: 'stop-listening' }
  /** Let every handler succeed from now on. */
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

/** An event of the fleet that this process received. */
export interface SeenEvent {
  readonly kind: string;
  readonly id: string | undefined;
  /** Process id of the process where it happened. */
  readonly pid: number;
}

/** A report of a process to its parent. */
export type OperatedReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly number: number }
  | { readonly kind: 'failed'; readonly number: number; readonly error: string }
  | { readonly kind: 'runs'; readonly items: readonly Run[] }
  | { readonly kind: 'aborts'; readonly items: readonly { readonly id: string; readonly code: string }[] }
  | { readonly kind: 'deaths'; readonly items: readonly string[] }
  | { readonly kind: 'events'; readonly items: readonly SeenEvent[] }
  | { readonly kind: 'logged'; readonly line: string; readonly at: number };
