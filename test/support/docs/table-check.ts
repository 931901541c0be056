import type { WrittenText } from './library.js';
import type { CheckedRow } from './markdown.js';
import { inBackticks } from './markdown.js';

/** What the code says of one name. A table that has one of these columns has to have the same in it. */
export interface Fact {
  readonly type?: string;
  readonly labels?: readonly string[];
}

/** What a table is compared with: all names there are, or texts that its lines have to be among. */
export type Facts = ReadonlyMap<string, Fact> | { readonly texts: readonly WrittenText[] };

/** Fixed text that two lines have to share at least, so that one is taken for the other. */
const MIN_SHARED = 10;

/** What is wrong with the rows of a table. */
export function faultsIn(rows: readonly CheckedRow[], facts: Facts): string[] {
  if ('texts' in facts) return [...twiceIn(rows.map(lineOf)), ...rows.flatMap((row) => faultsOfLine(row, facts.texts))];
  const named = rows.flatMap(({ names }) => names);
  return [
    ...twiceIn(named),
    ...[...facts.keys()].filter((name) => !named.includes(name)).map((name) => `'${name}' is missing`),
    ...rows.flatMap(({ names, cells }) =>
      names.flatMap((name) => {
        const fact = facts.get(name);
        return fact ? faultsOfRow(name, cells, fact) : [`'${name}' is not in the code`];
      }),
    ),
  ];
}

function twiceIn(names: readonly string[]): string[] {
  return names.filter((name, i) => names.indexOf(name) < i).map((name) => `'${name}' is there twice`);
}

function faultsOfRow(name: string, cells: CheckedRow['cells'], fact: Fact): string[] {
  const faults: string[] = [];
  const compare = (column: string, said: string, known: string): void => {
    if (said !== known) faults.push(`${column} of '${name}': ${said} is not ${known}`);
  };
  if (fact.type && cells.has('type')) compare('type', cells.get('type') ?? '', fact.type);
  if (fact.labels && cells.has('labels')) {
    compare('labels', inBackticks(cells.get('labels') ?? '').join(), fact.labels.join());
  }
  return faults;
}

function lineOf({ cells }: CheckedRow): string {
  return inBackticks(cells.get('line') ?? '')[0] ?? '';
}

function faultsOfLine(row: CheckedRow, texts: readonly WrittenText[]): string[] {
  const line = lineOf(row);
  const written = texts.filter(({ parts }) => fits(line, parts));
  if (written.length === 0) return [`nothing writes '${line}'`];
  const levels = new Set(written.flatMap(({ level }) => level ?? []));
  const [level = ''] = row.names;
  const isKnown = levels.size > 0 && written.every((text) => text.level !== undefined);
  return isKnown && !levels.has(level) ? [`level of '${line}': ${level} is not ${[...levels].join(' or ')}`] : [];
}

/** Whether a line, which may end early with an ellipsis, has the fixed parts of a text in their order. */
function fits(line: string, [first = '', ...others]: readonly string[]): boolean {
  const [shown = ''] = line.split('…');
  const isCut = shown !== line;
  if (!shown.startsWith(first)) return isCut && shown.length >= MIN_SHARED && first.startsWith(shown);
  let end = first.length;
  let shared = first.length;
  for (const part of others) {
    const start = shown.indexOf(part, end + 1);
    if (start === -1) return isCut && shared >= MIN_SHARED;
    end = start + part.length;
    shared += part.length;
  }
  return shared >= MIN_SHARED && (isCut || end === shown.length || others.at(-1) === '');
}
