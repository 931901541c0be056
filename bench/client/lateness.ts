import type { ClockOffset } from './clock-offset.js';

/** How late messages were, in milliseconds on Redis's clock. */
export interface Lateness {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Messages that were handled before they were due, by more than the uncertainty of the clocks. */
  readonly early: number;
}

/**
 * @param values differences between this process's clock and due times, in the order of handling
 * @param leadIn how many of the first ones count only if they are early
 */
export function latenessOf(values: readonly number[], { offset, error }: ClockOffset, leadIn = 0): Lateness {
  const all = values.map((value) => value + offset);
  const sorted = Float64Array.from(all.slice(leadIn)).toSorted();
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1), early: all.filter((value) => value < -error).length };
}
