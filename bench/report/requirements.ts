import { BARE, BEE_QUEUE, BULLMQ, OURS, grouped } from '../figures/figure.js';
import type { FigureReport, Report } from './report.js';
import { type Cell, type Row, ratioOf, rowsOf } from './summary.js';

/** What the library must reach, what it should reach, and whether it does. */
export interface Verdict {
  readonly what: string;
  readonly must: string;
  /** Empty if there is no goal beyond what must be reached. */
  readonly goal: string;
  readonly measured: string;
  readonly meetsMust: boolean;
  readonly meetsGoal: boolean;
}

/** A number of a figure, with bounds. */
interface Bound {
  /** `undefined` if it could not be measured. */
  readonly value: number | undefined;
  readonly show: (value: number) => string;
  readonly atLeast?: Limits;
  readonly atMost?: Limits;
  /** Shown after the numbers: what they refer to. */
  readonly of?: string;
}

interface Limits {
  readonly must: number;
  readonly goal?: number;
}

interface Requirement {
  readonly figure: string;
  readonly what: string;
  readonly bounds: (figure: FigureReport) => Bound[];
}

// Numbers below 1 have one more digit, so that rounding does not hide on which side of a bound they are.
const times = (value: number): string => `${value.toFixed(value < 1 ? 3 : 2)} ×`;
const percent = (value: number): string => `${(value * 100).toFixed(0)} %`;
const milliseconds = (value: number): string => `${value.toFixed(1)} ms`;
const microseconds = (value: number): string => `${value.toFixed(0)} µs`;
const thousands = (value: number): string => `${(value / 1000).toFixed(0)}k`;
const perSecond = (value: number): string => `${value.toFixed(2)}/s`;

const REQUIREMENTS: readonly Requirement[] = [
  {
    figure: 'backlog',
    what: 'Messages handled per second, against BullMQ',
    bounds: (figure) => [{ value: ratio(figure, 'rate', BULLMQ), show: times, atLeast: { must: 7, goal: 10 } }],
  },
  {
    figure: 'backlog',
    what: 'The same with a concurrency of 100, which is the default',
    bounds: (figure) => [
      { value: ratioAt(figure, 'rate', 'concurrency 100'), show: times, atLeast: { must: 5, goal: 8 } },
    ],
  },
  {
    figure: 'ten-at-a-time',
    what: 'The same with a concurrency of 10',
    bounds: (figure) => [{ value: ratio(figure, 'rate', BULLMQ), show: times, atLeast: { must: 2, goal: 4 } }],
  },
  {
    figure: 'one-at-a-time',
    what: 'Messages handled per second, one at a time',
    bounds: (figure) => [
      { value: ratio(figure, 'rate', BULLMQ), show: times, atLeast: { must: 1.2, goal: 2 }, of: BULLMQ },
      { value: ratio(figure, 'rate', BEE_QUEUE), show: times, atLeast: { must: 1 }, of: BEE_QUEUE },
    ],
  },
  {
    figure: 'backlog',
    what: 'Messages handled per second, against the bare scripts',
    bounds: (figure) => [{ value: ratio(figure, 'rate', BARE), show: percent, atLeast: { must: 0.6 } }],
  },
  ...forBothDueTimes((key, due) => ({
    figure: 'publish',
    what: `Calls of publish() per second, ${due}`,
    bounds: (figure) => [
      { value: ratio(figure, key, BULLMQ), show: times, atLeast: { must: 4, goal: 5 }, of: BULLMQ },
      { value: ratio(figure, key, BEE_QUEUE), show: times, atLeast: { must: 1.5 }, of: BEE_QUEUE },
    ],
  })),
  {
    figure: 'publish-many',
    what: 'Delayed messages per second with publishMany(), against BullMQ',
    bounds: (figure) => [{ value: ratio(figure, 'later', BULLMQ), show: times, atLeast: { must: 6, goal: 8 } }],
  },
  {
    figure: 'burst',
    what: 'Lateness of the last message of a burst, against BullMQ',
    bounds: (figure) => [{ value: ratio(figure, 'max', BULLMQ), show: times, atMost: { must: 0.15, goal: 0.1 } }],
  },
  { figure: 'spread', what: 'Lateness, published before', bounds: latenessBounds },
  {
    figure: 'calm',
    what: 'CPU of a message of a calm topic',
    bounds: (figure) => [
      { value: median(figure, 'redis'), show: microseconds, atMost: { must: 100, goal: 60 }, of: 'Redis' },
      { value: median(figure, 'process'), show: microseconds, atMost: { must: 200, goal: 120 }, of: 'process' },
    ],
  },
  { figure: 'spread-live', what: 'Lateness, published meanwhile', bounds: latenessBounds },
  ...instructionsBounds(),
  {
    figure: 'memory',
    what: 'Redis memory of a waiting message, against BullMQ',
    bounds: (figure) => [{ value: ratio(figure, 'bytes', BULLMQ), show: times, atMost: { must: 0.43, goal: 0.35 } }],
  },
  {
    figure: 'growth',
    what: 'Handled per second with many messages waiting, against few',
    bounds: (figure) => [
      { value: leastToFirst(figure, 'handled'), show: percent, atLeast: { must: 0.85, goal: 0.95 } },
    ],
  },
  {
    figure: 'growth',
    what: 'Published per second with many messages waiting, against few',
    bounds: (figure) => [
      { value: leastToFirst(figure, 'published'), show: percent, atLeast: { must: 0.85, goal: 0.95 } },
    ],
  },
  {
    figure: 'idle',
    what: 'Redis commands while idle, however many partitions',
    bounds: (figure) => [{ value: mostOfOurs(figure, 'commands'), show: perSecond, atMost: { must: 1, goal: 0.4 } }],
  },
  {
    figure: 'idle',
    what: 'CPU while idle with many messages waiting, against none; up to a fifth more is noise',
    bounds: (figure) => [{ value: cpuOfWaiting(figure), show: percent, atMost: { must: 1.2 } }],
  },
  {
    figure: 'topics',
    what: 'Messages handled per second in ten topics, against one',
    bounds: (figure) => [{ value: lastToFirst(figure, 'rate'), show: percent, atLeast: { must: 0.9 } }],
  },
  {
    figure: 'processes',
    what: 'Messages handled per second by several processes, against one',
    bounds: (figure) => [{ value: leastToFirst(figure, 'rate'), show: percent, atLeast: { must: 0.9, goal: 1 } }],
  },
  {
    figure: 'ordered',
    what: 'Messages handled per second in an ordered topic, against one without order',
    bounds: (figure) => [{ value: lastToFirst(figure, 'handled'), show: percent, atLeast: { must: 0.5, goal: 0.7 } }],
  },
  {
    figure: 'finished',
    what: 'Messages handled per second with a million finished ones kept, against none yet',
    bounds: (figure) => [{ value: ratiosToFirst(figure, 'rate')[1], show: percent, atLeast: { must: 0.9 } }],
  },
  {
    figure: 'block',
    what: 'Longest block of Redis',
    bounds: (figure) => [{ value: median(figure, 'block'), show: milliseconds, atMost: { must: 10, goal: 3 } }],
  },
];

/** Compares a report with the requirements; those on figures that are not in the report are left out. */
export function verdictsOf({ figures }: Report): Verdict[] {
  return REQUIREMENTS.flatMap(({ figure: name, what, bounds }) => {
    const figure = figures.find((candidate) => candidate.name === name);
    return figure ? [verdict(what, bounds(figure))] : [];
  });
}

/** All bounds have to hold. The goal includes the bounds that have no goal of their own. */
function verdict(what: string, bounds: readonly Bound[]): Verdict {
  const meetsMust = bounds.every((bound) => holds(bound, 'must'));
  return {
    what,
    must: bounds.flatMap((bound) => limitOf(bound, 'must')).join(', '),
    goal: bounds.flatMap((bound) => limitOf(bound, 'goal')).join(', '),
    measured: bounds.map(({ value, show, of }) => said(value === undefined ? '?' : show(value), of)).join(', '),
    meetsMust,
    meetsGoal: meetsMust && bounds.every((bound) => holds(bound, 'goal')),
  };
}

/** A bound without a measurement does not hold. */
function holds({ value = NaN, atLeast, atMost }: Bound, level: keyof Limits): boolean {
  return value >= (atLeast?.[level] ?? -Infinity) && value <= (atMost?.[level] ?? Infinity);
}

function limitOf({ show, atLeast, atMost, of }: Bound, level: keyof Limits): string[] {
  const [lower, upper] = [atLeast?.[level], atMost?.[level]];
  if (lower !== undefined) return [said(`≥ ${show(lower)}`, of)];
  return upper === undefined ? [] : [said(`≤ ${show(upper)}`, of)];
}

function said(number: string, of: string | undefined): string {
  return of === undefined ? number : `${number} ${of}`;
}

function forBothDueTimes(requirement: (key: string, due: string) => Requirement): Requirement[] {
  return [requirement('later', 'due in an hour'), requirement('atOnce', 'due at once')];
}

/** The most that a message of a plain topic may cost Redis, and that of one with a feature beside it. */
function instructionsBounds(): Requirement[] {
  const figure = 'instructions';
  const plain = (what: string, perCall: number, key: string, must: number): Requirement => ({
    figure,
    what: `Instructions of Redis to ${what} a message, ${perCall} at once`,
    bounds: (report) => [{ value: instructions(report, 'plain', perCall, key), show: thousands, atMost: { must } }],
  });
  const features = (what: string, key: string): Requirement => ({
    figure,
    what: `The same to ${what} what has a feature, against a plain message`,
    bounds: (report) => [
      beside(report, 'ordered', key, 2),
      ...['tagged', 'limited in flight by key', 'limited rate by key'].map((name) => beside(report, name, key, 1.7)),
    ],
  });
  return [
    plain('claim and settle', 100, 'handled', 24_000),
    plain('claim and settle', 1, 'handled', 230_000),
    features('claim and settle', 'handled'),
    plain('publish', 100, 'published', 10_000),
    features('publish', 'published'),
  ];
}

/** What a feature costs, against a plain message. */
function beside(report: FigureReport, feature: string, key: string, must: number): Bound {
  const [own = NaN, plain = NaN] = [feature, 'plain'].map((what) => instructions(report, what, 100, key));
  return { value: own / plain, show: times, atMost: { must }, of: feature };
}

function instructions(report: FigureReport, feature: string, perCall: number, key: string): number | undefined {
  return cell(report, key, `${OURS}, ${feature}, ${perCall} at once`)?.median;
}

function latenessBounds(figure: FigureReport): Bound[] {
  return [
    { value: median(figure, 'p50'), show: milliseconds, atMost: { must: 1.5 }, of: 'p50' },
    { value: median(figure, 'p99'), show: milliseconds, atMost: { must: 3, goal: 2 }, of: 'p99' },
    { value: most(figure, 'early'), show: (value) => grouped(value), atMost: { must: 0 }, of: 'early' },
  ];
}

function median(figure: FigureReport, key: string): number | undefined {
  return cell(figure, key, OURS)?.median;
}

/** The largest value of all runs, for what must never happen. */
function most(figure: FigureReport, key: string): number | undefined {
  return cell(figure, key, OURS)?.most;
}

/** Our value divided by another contender's. */
function ratio(figure: FigureReport, key: string, other: string): number | undefined {
  return between(row(figure, OURS), row(figure, other), key);
}

/** Our value divided by BullMQ's, both of this variant. */
function ratioAt(figure: FigureReport, key: string, variant: string): number | undefined {
  const trials = figure.trials.filter((trial) => trial.variant === variant);
  const of = (subject: string): Row | undefined =>
    row({ ...figure, trials: trials.filter((trial) => trial.subject === subject) }, subject);
  return between(of(OURS), of(BULLMQ), key);
}

/** The largest median of our subjects. */
function mostOfOurs(figure: FigureReport, key: string): number | undefined {
  const ours = rowsOf(figure).filter(({ subject }) => subject.startsWith(OURS));
  const medians = ours.map(({ cells }) => cells.get(key)?.median ?? NaN);
  return medians.length === 0 ? undefined : Math.max(...medians);
}

/** The last subject divided by the first, for figures whose baseline is the first. */
function lastToFirst(figure: FigureReport, key: string): number | undefined {
  return ratiosToFirst(figure, key).at(-1);
}

/** The smallest of the other subjects divided by the first. */
function leastToFirst(figure: FigureReport, key: string): number | undefined {
  const [first, ...others] = ratiosToFirst(figure, key);
  return first === undefined || others.length === 0 ? undefined : Math.min(...others.map((value = 0) => value));
}

function ratiosToFirst(figure: FigureReport, key: string): (number | undefined)[] {
  return rowsOf(figure).map(({ cells }) => cells.get(key)?.ratio);
}

function cpuOfWaiting(figure: FigureReport): number | undefined {
  const waiting = rowsOf(figure).find(({ subject }) => subject.includes('waiting: '));
  return between(waiting, row(figure, `${OURS}, partitions: 8`), 'cpu');
}

function between(own: Row | undefined, other: Row | undefined, key: string): number | undefined {
  return own && other && ratioOf(own, other, key);
}

function cell(figure: FigureReport, key: string, subject: string): Cell | undefined {
  return row(figure, subject)?.cells.get(key);
}

function row(figure: FigureReport, subject: string): Row | undefined {
  return rowsOf(figure).find((candidate) => candidate.subject === subject);
}
