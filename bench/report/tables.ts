import { type Measure, grouped } from '../figures/figure.js';
import type { FigureReport, Report } from './report.js';
import { verdictsOf } from './requirements.js';
import { type Row, rowsOf } from './summary.js';

/** A table of a report, for the screen and for the document. */
export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const NO_VALUE = '–';

export function figureTable(figure: FigureReport): Table {
  const { measures, baseline = 'first' } = figure;
  const rows = rowsOf(figure);
  const hasVariants = rows.some(({ variant }) => variant !== undefined);
  const repeated = figure.trials.some(({ runs }) => runs.length > 1);
  const [primary] = measures;
  return {
    head: [
      '',
      ...measures.flatMap((measure) => [headOf(measure), ...(measure.incomparable ? [] : [`÷ ${baseline}`])]),
      ...(repeated && primary ? [`${primary.label}, least to most`] : []),
      ...(hasVariants ? ['best at'] : []),
    ],
    rows: rows.map((row) => [
      row.subject,
      ...measures.flatMap((measure) => cellsOf(row, measure)),
      ...(repeated && primary ? [rangeOf(row, primary)] : []),
      ...(hasVariants ? [row.variant ?? NO_VALUE] : []),
    ]),
  };
}

export function verdictTable(report: Report): Table {
  return {
    head: ['', 'must', 'goal', 'measured', 'must met', 'goal met'],
    rows: verdictsOf(report).map(({ what, must, goal, measured, meetsMust, meetsGoal }) => [
      what,
      must,
      goal || NO_VALUE,
      measured,
      said(meetsMust),
      said(meetsGoal),
    ]),
  };
}

export function machineTable({ date, runs, machine }: Report): Table {
  const { cores, processor, memory, system, node, redis, packages, commit, load } = machine;
  return {
    head: ['', ''],
    rows: [
      ['measured', `${date.slice(0, 10)}${commit === undefined ? '' : `, commit ${commit}`}`],
      ['runs', `${runs}, alternating; medians are shown, also for ratios`],
      ['machine', `${cores} cores, ${processor}, ${memory} GiB, ${system}; load ${load} at the start`],
      ['Node.js', node],
      ['Redis', `${redis}, on the same machine, without persistence`],
      ...Object.entries(packages).map(([name, version]) => [name, version]),
    ],
  };
}

export function toText({ head, rows }: Table): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => (isNumber(cell) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '─'.repeat(width)).join('  ');
  const hasHead = head.some((title) => title !== '');
  return [...(hasHead ? [line(head), rule] : []), ...rows.map(line)].join('\n');
}

export function toMarkdown({ head, rows }: Table): string {
  const alignments = head.map((_, i) => (rows.every((row) => isNumber(row[i] ?? '')) ? '--:' : '---'));
  return [head, alignments, ...rows].map(toMarkdownRow).join('\n');
}

function toMarkdownRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function headOf({ label, unit }: Measure): string {
  return unit === '' ? label : `${label} (${unit})`;
}

function cellsOf({ cells }: Row, { key, digits, incomparable }: Measure): string[] {
  const cell = cells.get(key);
  const value = cell ? grouped(cell.median, digits) : 'did not finish';
  if (incomparable) return [value];
  return [value, cell?.ratio === undefined ? NO_VALUE : cell.ratio.toFixed(2)];
}

function rangeOf({ cells, runs }: Row, { key, digits }: Measure): string {
  const cell = cells.get(key);
  const failures = runs.filter((run) => run === null).length;
  const range = cell ? `${grouped(cell.least, digits)} – ${grouped(cell.most, digits)}` : NO_VALUE;
  return failures === 0 ? range : `${range}; failed runs: ${failures}`;
}

function said(met: boolean): string {
  return met ? 'yes' : 'no';
}

function isNumber(cell: string): boolean {
  return /^(-?[\d,]+(\.\d+)?|–)$/.test(cell);
}
