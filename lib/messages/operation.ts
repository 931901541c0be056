/**
 * What an option of this name says is what the call does, so that it can be made again under the same name: within two minutes, in whichever
 * process, it gets its first answer, and nothing happens twice. The gateway names calls; whoever gave one name to two calls would have one done.
 */
export const OPERATION = Symbol.for('nestjs-delay-queue.operation');

/** Options of a call that may be made again. */
export interface Repeatable {
  /** 1 to 100 characters. @defaultValue it is a call of its own */
  readonly [OPERATION]?: string | undefined;
}
