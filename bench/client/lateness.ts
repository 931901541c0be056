import type { ClockOffset } from './clock-offset.js';

/** How late messages were, in milliseconds on Redis's clock. */
export interface Lateness {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** Messages that were handled before they were due, beyond what the clocks leave in doubt. */
  readonly early: number;
}

/** @param values differences between this process's clock and due times */
export function latenessOf(values: readonly number[], { offset, error }: ClockOffset): Lateness {
  const sorted = Float64Array.from(values, (value) => value + offset).toSorted();
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1), early: sorted.findLastIndex((value) => value < -error) + 1 };
}
