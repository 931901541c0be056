import type { ContenderName } from '../contenders/contender.js';
import type { Bench } from '../harness/bench.js';
import type { Sizes } from '../sizes.js';

/** One quantity that a figure has of each subject. */
export interface Measure {
  readonly key: string;
  readonly label: string;
  /** Empty for a count. */
  readonly unit: string;
  readonly better: 'more' | 'less';
  /** Digits after the point. */
  readonly digits: number;
  /** Whether it makes no sense to divide it by that of the baseline. */
  readonly incomparable?: true;
}

/** What was measured in one run, by the key of the measure. */
export type Sample = Readonly<Record<string, number>>;

/** What is measured of one subject. */
export interface Trial {
  /** The row of the table; several trials of one subject are variants, of which the best counts. */
  readonly subject: string;
  /** What makes it another trial than those of the same subject. */
  readonly variant?: string;
  readonly measure: (bench: Bench) => Promise<Sample>;
}

/** Something to be compared; makes one table. */
export interface Figure {
  /** As the command line and docs/internals/performance.md call it. */
  readonly name: string;
  readonly title: string;
  /** What is measured, and how. */
  readonly description: string;
  /** The first decides which variant of a subject is the best. */
  readonly measures: readonly Measure[];
  /** The subject that the others are compared with, where they are contenders; else it is the first one. */
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
