import type { Paint } from './paint.js';
import { cut, shown } from './text.js';

/** A column of a table for people. */
export interface Column<Row> {
  readonly title: string;
  /** What stands in it; it becomes one line. */
  readonly cell: (row: Row) => string;
  /** Numbers stand at the right. */
  readonly align?: 'right';
  readonly paint?: (text: string, row: Row) => string;
}

const GAP = '  ';

/** The least that is left of the last column. */
const MIN_LAST = 20;

/**
 * @param width characters of a line, to which the last column is cut; `undefined`: as long as it is
 * @returns lines
 */
export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { paint, width }: { readonly paint: Paint; readonly width: number | undefined },
): string[] {
  const cells = rows.map((row) => columns.map(({ cell }) => shown(cell(row))));
  const widths = columns.map(({ title }, i) => Math.max(title.length, ...cells.map((line) => line[i]?.length ?? 0)));
  const last = columns.length - 1;
  const room = width === undefined ? Infinity : roomForLast(widths, width);
  const line = (texts: readonly string[], painted: (text: string, i: number) => string): string =>
    texts
      .map((text, i) => {
        const column = columns[i];
        const fitting = i === last ? cut(text, room) : text;
        const padding = ' '.repeat(Math.max(0, (widths[i] ?? 0) - fitting.length));
        const styled = painted(fitting, i);
        if (column?.align === 'right') return padding + styled;
        return i === last ? styled : styled + padding;
      })
      .join(GAP)
      .trimEnd();
  return [
    line(
      columns.map(({ title }) => title),
      (text) => paint('dim', text),
    ),
    ...rows.map((row, r) => line(cells[r] ?? [], (text, i) => columns[i]?.paint?.(text, row) ?? text)),
  ];
}

function roomForLast(widths: readonly number[], width: number): number {
  const before = widths.slice(0, -1).reduce((sum, each) => sum + each + GAP.length, 0);
  return Math.max(MIN_LAST, width - before);
}

/** A name and what stands for it; `undefined`: it is not known, or does not apply, and is left out. */
export type Pair = readonly [name: string, text: string | undefined];

/** A line for each pair, such as the parts of one message. */
export function pairs(entries: readonly Pair[], paint: Paint): string[] {
  const told = entries.filter(([, text]) => text !== undefined);
  const width = Math.max(0, ...told.map(([name]) => name.length));
  return told.map(([name, text]) => `${paint('dim', name.padEnd(width))}${GAP}${text}`);
}
