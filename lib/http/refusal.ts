import { DelayQueueError } from '../errors/delay-queue.error.js';

/** A request that is answered with an error. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** Extra headers of the answer, such as `retry-after`. */
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** Statuses of the library's errors; the others have 422. */
const STATUS: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  SERIALIZATION: 400,
  INVALID_PAYLOAD: 400,
  PAYLOAD_TOO_LARGE: 413,
  CONFIGURATION: 409,
  BROKER_UNAVAILABLE: 503,
};

/** Returns the refusal for an error; `undefined` for an internal fault, which strangers learn nothing of. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (!(error instanceof DelayQueueError)) return undefined;
  return new Refusal(STATUS[error.code] ?? 422, error.code, error.message);
}
