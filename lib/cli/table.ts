import type { Paint } from './paint.js';
import { columnsOf, cut, shown } from './text.js';

/** A column of a table for people. */
export interface Column<Row> {
  readonly title: string;
  /** Returns the text of a cell; it becomes one line. */
  readonly cell: (row: Row) => string;
  /** Side of the cells; numbers are on the right. */
  readonly align?: 'right';
  readonly paint?: (text: string, row: Row) => string;
}

const GAP = '  ';

/** Smallest width of a column that is cut. */
const MIN_CUT = 20;

/**
 * @param width columns of a terminal, to which the widest cells are cut; `undefined`: nothing is cut
 * @returns lines
 */
export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { paint, width }: { readonly paint: Paint; readonly width: number | undefined },
): string[] {
  const cells = rows.map((row) => columns.map(({ cell }) => shown(cell(row))));
  const wanted = columns.map(({ title }, i) =>
    Math.max(title.length, ...cells.map((line) => columnsOf(line[i] ?? ''))),
  );
  const widths = width === undefined ? wanted : fitted(wanted, width - GAP.length * (columns.length - 1));
  const last = columns.length - 1;
  const line = (texts: readonly string[], painted: (text: string, i: number) => string): string =>
    texts
      .map((text, i) => {
        const room = widths[i] ?? 0;
        const fitting = cut(text, room);
        const padding = ' '.repeat(Math.max(0, room - columnsOf(fitting)));
        const styled = painted(fitting, i);
        if (columns[i]?.align === 'right') return padding + styled;
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

/** Narrows the last column, and then the widest of the others, until all fit. */
function fitted(wanted: readonly number[], room: number): number[] {
  const widths = [...wanted];
  const last = widths.length - 1;
  const others = [...widths.keys()].slice(0, -1).toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
  for (const i of [last, ...others]) {
    const over = widths.reduce((sum, each) => sum + each, 0) - room;
    const own = widths[i] ?? 0;
    if (over > 0) widths[i] = Math.max(Math.min(own, MIN_CUT), own - over);
  }
  return widths;
}

/** A name and its text; `undefined`: it is unknown or does not apply, and is left out. */
export type Pair = readonly [name: string, text: string | undefined];

/** Returns a line for each pair, such as the parts of one message. */
export function pairs(entries: readonly Pair[], paint: Paint): string[] {
  const told = entries.filter(([, text]) => text !== undefined);
  const width = Math.max(0, ...told.map(([name]) => name.length));
  return told.map(([name, text]) => `${paint('dim', name.padEnd(width))}${GAP}${text}`);
}
