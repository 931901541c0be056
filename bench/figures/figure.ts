import type { ContenderName } from '../contenders/contender.js';
import type { Bench } from '../harness/bench.js';
import type { Sizes } from '../sizes.js';

/** A quantity that a figure measures for each subject. */
export interface Measure {
  readonly key: string;
  readonly label: string;
  /** Empty for a count. */
  readonly unit: string;
  readonly better: 'more' | 'less';
  /** Digits after the decimal point. */
  readonly digits: number;
  /** Set if dividing by the baseline's value makes no sense. */
  readonly incomparable?: true;
}

/** The results of one run, by the key of the measure. */
export type Sample = Readonly<Record<string, number>>;

/** One measurement of a subject. */
export interface Trial {
  /** The row of the table; several trials of one subject are variants, and the best one counts. */
  readonly subject: string;
  /** What distinguishes it from other trials of the same subject. */
  readonly variant?: string;
  readonly measure: (bench: Bench) => Promise<Sample>;
}

/** A comparison, shown as one table. */
export interface Figure {
  /** The name on the command line and in docs/performance.md. */
  readonly name: string;
  readonly title: string;
  /** What is measured, and how. */
  readonly description: string;
  /** The first decides which variant of a subject is the best. */
  readonly measures: readonly Measure[];
  /** The subject that the others are compared with. @defaultValue the first one */
  readonly baseline?: string;
  readonly trials: readonly Trial[];
}

export type FigureOf = (sizes: Sizes) => Figure;

export const OURS = 'nestjs-delay-queue' satisfies ContenderName;
export const BULLMQ = 'BullMQ' satisfies ContenderName;
export const BEE_QUEUE = 'bee-queue' satisfies ContenderName;
export const BARE = 'bare scripts' satisfies ContenderName;

/** The queues that are compared with each other. */
export const QUEUES = [OURS, BULLMQ, BEE_QUEUE] as const;

/** 1234567.8 as '1,234,567'. */
export function grouped(value: number, digits = 0): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
