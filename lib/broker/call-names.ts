import type { CallId } from './broker.interface.js';

/** Names the calls that one caller makes to one partition, one after another. */
export type CallNames = () => CallId;

/** Of a caller that nobody else is: its calls are numbered, and the latest one is remembered. */
export function callsOf(caller: string): CallNames {
  let sequence = 0;
  return () => ({ caller, sequence: ++sequence });
}

/**
 * Of an operation that may be made again as a whole, by any process: its first call is the repeat of its first call, and so on. So each is
 * remembered by itself.
 */
export function repeatableCallsOf(operation: string): CallNames {
  let call = 0;
  return () => ({ caller: `${operation}:${++call}`, sequence: 1 });
}
