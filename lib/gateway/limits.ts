import { assertInteger } from '../checks/validate.js';

/** Longest time that a request can wait for messages, in milliseconds: proxies in between give up on idle connections later. */
export const MAX_WAIT = 60_000;

/** Most messages, settlements or extensions of one request. */
export const MAX_MANY = 1000;

/** Limits that options can set. */
export interface GatewayLimits {
  /** Most requests that wait for messages at once. */
  readonly maxWaiting: number;
  /** Most bytes of a body. */
  readonly maxBody: number;
}

export const DEFAULT_LIMITS: GatewayLimits = { maxWaiting: 1000, maxBody: 8 * 1024 * 1024 };

/** @throws InvalidArgumentError */
export function checkedLimits({
  maxWaiting = DEFAULT_LIMITS.maxWaiting,
  maxBody = DEFAULT_LIMITS.maxBody,
}: {
  readonly maxWaiting?: number | undefined;
  readonly maxBody?: number | undefined;
}): GatewayLimits {
  assertInteger('maxWaiting', maxWaiting, { min: 1, max: 1_000_000 });
  assertInteger('maxBody', maxBody, { min: 1024, max: 1024 * 1024 * 1024 });
  return { maxWaiting, maxBody };
}
