/**
 * Base of every error this library throws. Branch on {@link code} or on the class, never on the message text.
 *
 * @publicApi
 */
export abstract class DelayQueueError extends Error {
  /** Stable identifier of the kind of error; part of the public API. */
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
