import { defineKind, isInstance } from './kinds.js';

/**
 * Base of every error this library throws. Branch on {@link code} or on the class, never on the message text.
 *
 * @publicApi
 */
export abstract class DelayQueueError extends Error {
  static {
    defineKind(this, 'DELAY_QUEUE');
  }

  /** Stable identifier of the kind of error; part of the public API. */
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /** True of errors that another copy of this package made as well, for each of its classes. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return isInstance(this, value);
  }
}
