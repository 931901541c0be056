/**
 * Name of an option that names the call, so that it can be repeated: within two minutes, in any process, a repeat gets the first answer,
 * and nothing happens twice. The gateway names calls; of two different calls with one name, only the first would take effect.
 */
export const OPERATION = Symbol.for('nestjs-delay-queue.operation');

/** Options of a call that can be repeated. */
export interface Repeatable {
  /** Name of the call, 1 to 100 characters. @defaultValue none: a call of its own */
  readonly [OPERATION]?: string | undefined;
}
