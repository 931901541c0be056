import { type Violation, excusedByLosses } from '../fleet/faults/history/checker.js';
import type { ClockStep, History, ProcessRecord } from '../fleet/faults/history/records.js';

/** What a history shows in numbers. Milliseconds. */
export interface Figures {
  readonly confirmed: number;
  readonly rejected: number;
  readonly deliveries: number;
  /** Of the first delivery of each message. */
  readonly lateness: Lateness;
  /** The longest time without a confirmed publish. */
  readonly publishingStopped: number;
  /** The longest time without a handler that began, until the last publish: what comes later may wait for leases. */
  readonly handlingStopped: number;
  /** How often each rule was broken only by what Redis had lost; a lost message counts once. */
  readonly excused: ReadonlyMap<Violation['rule'], number>;
}

export interface Lateness {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export type Started = Extract<ProcessRecord, { kind: 'delivery-started' }>;

export function figuresOf(history: History): Figures {
  const timesOf = (kind: ProcessRecord['kind']): number[] =>
    history.records.filter((record) => record.kind === kind).map(({ at }) => at);
  const confirmed = timesOf('publish-confirmed');
  const started = timesOf('delivery-started');
  const loadEnded = confirmed.at(-1) ?? 0;
  return {
    confirmed: confirmed.length,
    rejected: timesOf('publish-failed').length,
    deliveries: started.length,
    lateness: latenessOf(firstDeliveries(history), history.clockSteps),
    publishingStopped: longestGap(confirmed),
    handlingStopped: longestGap([...started.filter((at) => at < loadEnded), loadEnded]),
    excused: excusedByLosses(history),
  };
}

/** The first delivery of each message. */
export function firstDeliveries({ records }: History): Started[] {
  return records.filter((record): record is Started => record.kind === 'delivery-started' && record.attempt === 1);
}

/** How late deliveries were, on the clock of the servers. */
export function latenessOf(deliveries: readonly Started[], clockSteps: readonly ClockStep[] = []): Lateness {
  const sorted = deliveries
    .map(({ at, dueAt }) => at + (clockSteps.findLast((step) => step.at <= at)?.offset ?? 0) - dueAt)
    .toSorted((a, b) => a - b);
  const share = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
  return { p50: share(0.5), p99: share(0.99), max: share(1) };
}

export function describe({ p50, p99, max }: Lateness): string {
  return `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, at most ${max.toFixed(0)} ms late`;
}

/** @param times in their order */
function longestGap(times: readonly number[]): number {
  return times.reduce((longest, at, i) => Math.max(longest, at - (times[i - 1] ?? at)), 0);
}
