import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The README and everything under docs, from the root folder. */
export const DOCUMENTS: readonly string[] = [
  'README.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path))
    .toSorted(),
];

/** A fenced block of a document. */
export interface CodeBlock {
  readonly language: string;
  readonly code: string;
  /** Line of the document on which the code begins, 1 for the first. */
  readonly line: number;
  /** What it stands under. */
  readonly heading: string;
}

/** A table that `<!-- checked: name -->` stands above: it is compared with what the code has under this name. */
export interface CheckedTable {
  readonly check: string;
  readonly rows: readonly CheckedRow[];
}

export interface CheckedRow {
  /** What stands in backticks in the first cell, without quotes and parentheses: a row may be about several things. */
  readonly names: readonly string[];
  /** Text of the cells by column. */
  readonly cells: ReadonlyMap<string, string>;
}

/** A table by the names in backticks at the beginning of its rows; each row as the text of its cells. */
export type Table = ReadonlyMap<string, readonly string[]>;

const CODE_BLOCK = /^```[^]*?^```$/gm;

export function readDocument(path: string): string {
  return readFileSync(path, 'utf8');
}

export function codeBlocks(markdown: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let heading = '';
  let open: { language: string; lines: string[]; line: number } | undefined;
  for (const [index, text] of markdown.split('\n').entries()) {
    const fence = /^```(\S*)$/.exec(text);
    if (!fence) {
      if (open) open.lines.push(text);
      else heading = /^#+ (.*)$/.exec(text)?.[1] ?? heading;
    } else if (open) {
      blocks.push({ language: open.language, code: open.lines.join('\n'), line: open.line, heading });
      open = undefined;
    } else {
      open = { language: fence[1] ?? '', lines: [], line: index + 2 };
    }
  }
  return blocks;
}

/** The part of a document under a heading, up to the next heading of the same or a higher level. */
export function section(markdown: string, heading: string): string {
  const lines = markdown.split('\n');
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  if (start === -1) throw new Error(`There is no heading '${heading}'.`);
  const level = /^#+/.exec(lines[start] as string)?.[0].length ?? 0;
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => new RegExp(`^#{1,${level}} `).test(line));
  return rest.slice(0, end === -1 ? undefined : end).join('\n');
}

/** The table of a text whose head begins with these columns. */
export function table(markdown: string, ...columns: string[]): Table {
  const lines = markdown.split('\n');
  const head = lines.findIndex((line) => columns.every((column, i) => toCells(line)[i] === column));
  if (head === -1) throw new Error(`There is no table with the columns ${columns.join(', ')}.`);
  const rows = lines.slice(head + 2);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return new Map(
    rows.slice(0, end === -1 ? undefined : end).flatMap((line) => {
      const cells = toCells(line);
      return inBackticks(cells[0] ?? '').map((name) => [name, cells] as const);
    }),
  );
}

export function checkedTables(markdown: string): CheckedTable[] {
  const lines = markdown.split('\n');
  return lines.flatMap((line, i) => {
    const [, check] = /^<!-- checked: (.+) -->$/.exec(line) ?? [];
    if (check === undefined) return [];
    const [columns = [], , ...rows] = lines.slice(i + 2, endOfTable(lines, i + 2)).map(toCells);
    return [{ check, rows: rows.map((cells) => toRow(columns, cells)) }];
  });
}

function endOfTable(lines: readonly string[], start: number): number {
  const length = lines.slice(start).findIndex((line) => !line.startsWith('|'));
  return length === -1 ? lines.length : start + length;
}

function toRow(columns: readonly string[], cells: readonly string[]): CheckedRow {
  const names = inBackticks(cells[0] ?? '').map((name) => name.replace(/^'(.*)'$/, '$1').replace(/\(.*/, ''));
  return { names, cells: new Map(columns.map((column, i) => [column, cells[i] ?? ''])) };
}

/** What stands in backticks, outside code blocks. */
export function inBackticks(text: string): string[] {
  const prose = text.replaceAll(CODE_BLOCK, '');
  return Array.from(prose.matchAll(/`([^`]+)`/g), ([, name = '']) => name);
}

/** Targets of the links in a document. */
export function links(markdown: string): string[] {
  return Array.from(markdown.matchAll(/\]\(([^)\s]+)\)/g), ([, target = '']) => target);
}

/** What links to the headings of a document end with, as GitHub makes them. */
export function anchors(markdown: string): string[] {
  return Array.from(markdown.replaceAll(CODE_BLOCK, '').matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function toCells(line: string): string[] {
  return line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}
