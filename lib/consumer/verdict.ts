import type { Outcome } from '../broker/broker.interface.js';
import type { Failure } from '../messages/failure.js';

/** What became of a delivery. */
export interface Verdict {
  readonly outcome: Outcome;
  /** What the handler threw. */
  readonly error?: unknown;
  /** Attempts that are left after this one; of no meaning for what was not thrown. */
  readonly attemptsLeft?: number;
}

export const ACKED: Verdict = { outcome: { kind: 'ack' } };

/** Back at once, as if it had not been delivered. */
export const RELEASED: Verdict = { outcome: { kind: 'release' } };

/** A dead letter without a call of the handler, which spends no attempt. */
export function dead(failure: Failure): Verdict {
  return { outcome: { kind: 'dead', failure, spent: false } };
}
