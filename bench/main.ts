// Compares the library with other queues. scripts/bench.mjs starts this and passes the address of an empty Redis.
import { readFileSync, writeFileSync } from 'node:fs';
import { type Figure, type Sample, type Trial, grouped } from './figures/figure.js';
import { measureInAlternation } from './harness/alternate.js';
import { Bench } from './harness/bench.js';
import { type BenchOptions, parseOptions, UsageError } from './options.js';
import { chartOf } from './report/chart.js';
import { CHART, DOCUMENT, SIZING, fillDocument, fillRegions } from './report/document.js';
import { LATEST, PARTIAL, writeReport } from './report/json.js';
import { describeMachine } from './report/machine.js';
import type { FigureReport, Report } from './report/report.js';
import { figureTable, machineTable, type Table, toText, verdictTable } from './report/tables.js';

try {
  process.exitCode = await main(parseOptions(process.argv.slice(2)));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(error.message);
  process.exitCode = 2;
}

async function main(options: BenchOptions): Promise<number> {
  const bench = new Bench(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
  try {
    const report = await measureAll(options, bench);
    show(report);
    if (options.whole) await publish(report);
    else
      console.log(
        `\nNot everything was measured in full size: the report is in ${PARTIAL}, and ${DOCUMENT} is unchanged.`,
      );
    return report.figures.some(({ trials }) => trials.some(({ failure }) => failure !== undefined)) ? 1 : 0;
  } finally {
    bench.close();
  }
}

async function measureAll({ figures, runs, quick }: BenchOptions, bench: Bench): Promise<Report> {
  const facts = {
    date: new Date().toISOString(),
    runs,
    quick,
    machine: describeMachine(await bench.redis.version()),
  };
  const measured: FigureReport[] = [];
  for (const figure of figures) {
    console.log(`\n${figure.title} (${figure.name})`);
    measured.push(await measureInAlternation(figure, bench, runs, showSample));
    // After each figure, so that little is lost if the benchmark is interrupted.
    writeReport(PARTIAL, { ...facts, figures: measured });
  }
  return { ...facts, figures: measured };
}

function showSample({ measures }: Figure, { subject, variant }: Trial, run: number, sample: Sample | Error): void {
  const what = `  run ${run}  ${subject}${variant === undefined ? '' : `, ${variant}`}: `;
  if (sample instanceof Error) {
    console.log(`${what}failed: ${sample.message}`);
    return;
  }
  const values = measures.map(({ key, label, unit, digits }) =>
    `${label} ${grouped(sample[key] ?? NaN, digits)} ${unit}`.trimEnd(),
  );
  console.log(what + values.join(', '));
}

function show(report: Report): void {
  showTable('What was measured', machineTable(report));
  for (const figure of report.figures) showTable(figure.title, figureTable(figure));
  const verdicts = verdictTable(report);
  if (verdicts.rows.length > 0) showTable('Requirements', verdicts);
}

function showTable(title: string, table: Table): void {
  console.log(`\n${title}\n\n${toText(table)}`);
}

async function publish(report: Report): Promise<void> {
  writeReport(LATEST, report);
  writeFileSync(CHART, chartOf(report));
  writeFileSync(DOCUMENT, await fillDocument(readFileSync(DOCUMENT, 'utf8'), report));
  writeFileSync(SIZING, await fillRegions(readFileSync(SIZING, 'utf8'), report));
  console.log(`\nWritten to ${LATEST}, ${CHART}, ${DOCUMENT} and ${SIZING}.`);
}
