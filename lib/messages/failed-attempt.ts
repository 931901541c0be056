import { type Failure, messageOf } from './failure.js';

/**
 * An attempt that failed, as it is kept in the history of its message.
 *
 * @publicApi
 */
export interface FailedAttempt {
  /** When it failed, on the Redis server's clock as the process estimated it. */
  readonly at: Date;
  /** Which attempt it was, 1 for the first. Counting begins anew when a dead letter is requeued. */
  readonly attempt: number;
  /** Name of the error's class. */
  readonly name: string;
  /** The error's message, with that of its cause, at most 200 characters. */
  readonly message: string;
  /** How long the handler ran, in milliseconds. */
  readonly duration: number;
}

/** How many failed attempts are kept of a message, the latest ones. `lua/modules/history.lua` has the same number. */
export const MAX_HISTORY = 10;

const MAX_NAME_LENGTH = 100;
const MAX_MESSAGE_LENGTH = 200;

export function toFailedAttempt(
  failure: Failure,
  { at, attempt, duration }: { readonly at: number; readonly attempt: number; readonly duration: number },
): FailedAttempt {
  return {
    at: new Date(Math.floor(at)),
    attempt,
    name: failure.name.slice(0, MAX_NAME_LENGTH),
    message: messageOf(failure).slice(0, MAX_MESSAGE_LENGTH),
    duration: Math.round(duration),
  };
}
