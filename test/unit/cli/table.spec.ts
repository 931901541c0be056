import { expect, it } from 'vitest';
import { type Paint } from '../../../lib/cli/paint.js';
import { type Column, pairs, table } from '../../../lib/cli/table.js';
import { columnsOf } from '../../../lib/cli/text.js';

interface Row {
  readonly name: string;
  readonly count: number;
  readonly note: string;
}

const COLUMNS: Column<Row>[] = [
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'COUNT', cell: ({ count }) => String(count), align: 'right', paint: (text) => `<${text}>` },
  { title: 'NOTE', cell: ({ note }) => note },
];
const ROWS = [
  { name: 'a', count: 1, note: '' },
  { name: 'longer', count: 23_456, note: 'a note that is longer than there is room for' },
];
const plain: Paint = (_, text) => text;
const plainText = (text: string): string => text;

it('a table has its columns below one another, numbers at the right, and no blanks at the end', () => {
  expect(table(COLUMNS, ROWS, { paint: plain, width: undefined })).toEqual([
    'NAME    COUNT  NOTE',
    'a           <1>',
    'longer  <23456>  a note that is longer than there is room for',
  ]);
});

it('a table has lines as long as the terminal, whose last column is cut', () => {
  const [, , line = ''] = table(
    COLUMNS.map((column) => ({ ...column, paint: (text) => text })),
    ROWS,
    { paint: plain, width: 40 },
  );
  expect(line).toBe('longer  23456  a note that is longer th…');
  expect(line).toHaveLength(40);
});

it('a table stands right under what takes two columns each, and is no wider than the terminal for a long id', () => {
  const rows = ['漢字', 'é', 'x'.repeat(256)].map((name) => ({ name, count: 1, note: 'a note' }));
  const columns = COLUMNS.map((column) => ({ ...column, paint: plainText }));
  expect(table(columns, rows.slice(0, 2), { paint: plain, width: undefined }).slice(1)).toEqual([
    '漢字      1  a note',
    'é         1  a note',
  ]);
  const lines = table(columns, rows, { paint: plain, width: 40 });
  expect(lines.map((line) => columnsOf(line))).toEqual([expect.any(Number), 40, 40, 40]);
  expect(lines[3]).toMatch(/^x+…  +1  a note$/);
});

it('a list of pairs has what stands for the names below one another', () => {
  expect(
    pairs(
      [
        ['id', '1'],
        ['payload', '{}'],
      ],
      (style, text) => `${style}:${text}`,
    ),
  ).toEqual(['dim:id       1', 'dim:payload  {}']);
});
