import { basename } from 'node:path';
import { format } from 'oxfmt';
import { LATEST } from './json.js';
import type { Report } from './report.js';
import { sizingTable } from './sizing.js';
import { figureTable, machineTable, toMarkdown, verdictTable } from './tables.js';

/** The document that shows the latest report, its chart, which is packed with it, and the page on sizing; from the root folder. */
export const DOCUMENT = 'docs/internals/performance.md';
export const CHART = 'docs/internals/performance.svg';
export const SIZING = 'docs/guides/sizing.md';

/** Placeholder for figures without a measurement: they may be newer than the latest run. */
const NOT_MEASURED = '_Not measured yet: `npm run bench` fills this in._';

const REGION = /(<!-- bench:(\S+) -->)[^]*?(<!-- \/bench -->)/g;

/**
 * Puts the tables of a report between the document's markers, `<!-- bench:name -->` and `<!-- /bench -->`, and leaves
 * everything else as it is. The name is the name of a figure, or `machine`, `requirements`, `chart` or `sizing`.
 *
 * @param report `undefined`: nothing was measured yet
 * @throws if the document has no place for a figure of the report
 */
export async function fillDocument(document: string, report: Report | undefined): Promise<string> {
  const named = new Set(regionsOf(document));
  const missing = report?.figures.find(({ name }) => !named.has(name));
  if (missing) throw new Error(`${DOCUMENT} has no place for the figure '${missing.name}'.`);
  return fillRegions(document, report);
}

/** Does the same for a document that has some of the places. */
export async function fillRegions(document: string, report: Report | undefined): Promise<string> {
  const filled = document.replaceAll(REGION, (_, start: string, name: string, end: string) => {
    return `${start}\n\n${report ? contentOf(name, report) : NOT_MEASURED}\n\n${end}`;
  });
  return (await format(DOCUMENT, filled)).code;
}

/** The names of the places to fill. */
export function regionsOf(document: string): string[] {
  return Array.from(document.matchAll(REGION), ([, , name = '']) => name);
}

/** The document without the places to fill. */
export function proseOf(document: string): string {
  return document.replaceAll(REGION, '');
}

function contentOf(name: string, report: Report): string {
  if (name === 'machine') {
    return `${toMarkdown(machineTable(report))}\n\nThe repository has the samples of all runs in \`${LATEST}\`.`;
  }
  if (name === 'requirements') return toMarkdown(verdictTable(report));
  if (name === 'sizing') return toMarkdown(sizingTable(report));
  if (name === 'chart') return `![The figures as bars](${basename(CHART)})`;
  const figure = report.figures.find((candidate) => candidate.name === name);
  if (!figure) return NOT_MEASURED;
  return `${figure.description}\n\n${toMarkdown(figureTable(figure))}`;
}
