import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

import { ROOT } from '../setup/run.mjs';

/** Most lines of the reason of a failure, from its beginning and from its end: a test may put a program's output in between. */
const FIRST_LINES = 12;
const LAST_LINES = 6;

/**
 * Counts the tests in vitest's JSON report. Everything that did not pass counts as failed, skipped tests and files that could
 * not run included.
 *
 * @param {string} file the report
 * @param {{ exitCode: number, skipsAllowed: boolean }} run
 * @returns {{ passed: number, failures: string[] }}
 */
export function countTests(file, { exitCode, skipsAllowed }) {
  const suites = readReport(file).map((suite) => ({ ...suite, name: relative(ROOT, suite.name) }));
  const tests = suites.flatMap((suite) => suite.assertionResults.map((test) => ({ ...test, file: suite.name })));
  const passed = tests.filter(({ status }) => status === 'passed').length;

  const failures = tests
    .filter(({ status }) => status !== 'passed' && !(skipsAllowed && isSkip(status)))
    .map((test) => `${test.file} > ${test.fullName.trim()} (${test.status})${reasonOf(test)}`);
  for (const suite of suites) {
    const explained = suite.assertionResults.some(({ status }) => status === 'failed');
    if (suite.status === 'failed' && !explained) failures.push(`${suite.name} (${firstLine(suite.message)})`);
  }
  if (passed === 0 && failures.length === 0) failures.push('vitest (no test was run)');
  if (exitCode !== 0 && failures.length === 0) failures.push(`vitest (exit code ${exitCode})`);
  return { passed, failures };
}

/** The report's entries for each file; empty if vitest did not write a report. */
function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).testResults;
  } catch {
    return [];
  }
}

function isSkip(status) {
  return status === 'skipped' || status === 'pending';
}

/** Of a long log only its end is kept, so that is where the reason has to be. */
function reasonOf({ failureMessages = [] }) {
  const lines = stripVTControlCharacters(failureMessages.join('\n')).split('\n');
  const left = lines.length - FIRST_LINES - LAST_LINES;
  if (left > 1) lines.splice(FIRST_LINES, left, `… ${left} lines more …`);
  return lines.map((line) => `\n    ${line}`.trimEnd()).join('');
}

function firstLine(message) {
  return message?.split('\n')[0] || 'could not be run';
}
