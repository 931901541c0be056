import { assertInteger } from '../checks/validate.js';

/** Longest time that a request may wait for messages, in milliseconds: what lies between gives up on idle connections later. */
export const MAX_WAIT = 60_000;

/** Requests that may wait at once, unless an option says otherwise. */
export const DEFAULT_MAX_WAITING = 1000;

/** Most bytes of a body, unless an option says otherwise. */
export const DEFAULT_MAX_BODY = 8 * 1024 * 1024;

/** Limits that an option can set. */
export interface GatewayLimits {
  readonly maxWaiting: number;
  /** Bytes. */
  readonly maxBody: number;
}

/** @throws InvalidArgumentError */
export function assertLimits({ maxWaiting, maxBody }: GatewayLimits): void {
  assertInteger('maxWaiting', maxWaiting, { min: 1, max: 1_000_000 });
  assertInteger('maxBody', maxBody, { min: 1024, max: 1024 * 1024 * 1024 });
}
