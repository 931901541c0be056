import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Report } from './report.js';

/** The latest whole run, from the root folder. */
export const LATEST = 'bench/results/latest.json';

/** A run that is under way, or that left something out. */
export const PARTIAL = 'bench/results/partial.json';

export function writeReport(path: string, report: Report): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(report, undefined, 2)}\n`);
}

/** `undefined` if there has been no whole run yet. */
export function readLatest(): Report | undefined {
  return existsSync(LATEST) ? (JSON.parse(readFileSync(LATEST, 'utf8')) as Report) : undefined;
}
