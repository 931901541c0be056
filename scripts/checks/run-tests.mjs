import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Interruption } from '../setup/failure.mjs';
import { ensureRedisServer } from '../setup/redis.mjs';
import { ROOT, localBin, run } from '../setup/run.mjs';
import { lookAgain } from './second-look.mjs';

const REPORTER = join(ROOT, 'scripts/checks/results-reporter.mjs');

/**
 * What became of a spec file, or of a check before the tests.
 *
 * @typedef {object} FileResult
 * @property {string} file
 * @property {number} milliseconds
 * @property {number} passed tests that passed
 * @property {{ name: string, error: string }[]} failures each test that did not pass, a hook or the file itself
 * @property {string} [again] the command that repeats it
 * @property {boolean} [blocks] whether nothing can be tested since it failed
 * @property {{ name: string, error: string }} [unsteady] what failed at first, if the file passed when it was run again
 */

/**
 * Runs vitest. A file that fails is run once more by itself when all others have ended, and what it shows then counts.
 *
 * @param {string} command such as `npm test`, for the advice how to repeat a failure
 * @param {readonly string[]} projects of vitest.config.ts
 * @param {readonly string[]} args for vitest: files, or `-t`
 * @returns {Promise<FileResult[]>}
 */
export async function runTests(command, projects, args) {
  // Tests start servers with this executable.
  process.env.REDIS_SERVER = (await ensureRedisServer()).path;
  const chosen = choosesTests(args);
  const first = await runVitest(projects, args, chosen);
  const results = chosen
    ? first
    : await lookAgain(first, ({ file, project }) => {
        console.log(`\nOnce more, by itself: ${file}`);
        return runVitest([project], [join(ROOT, file)], false);
      });
  return results.map((result) => ({
    ...result,
    again: `SEED=${process.env.SEED} ${command}${result.project ? ` -- ${result.file}` : ''}`,
  }));
}

/** @returns {Promise<(FileResult & { project?: string })[]>} a result without a project is not that of a file */
async function runVitest(projects, args, skipsAllowed) {
  const folder = mkdtempSync(join(tmpdir(), 'nestjs-delay-queue-test-'));
  try {
    const output = join(folder, 'results.json');
    const reporters = ['--reporter=default', `--reporter=${REPORTER}`, `--outputFile.results=${output}`];
    const chosen = projects.map((name) => `--project=${name}`);
    const { code } = await runVisibly(localBin('vitest'), ['run', ...reporters, ...chosen, ...args]);
    return resultsOf(read(output), code, skipsAllowed);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** vitest reports the tests that a name pattern or a line number leaves out as skipped. */
function choosesTests(args) {
  return args.some((arg) => /^(-t|--testNamePattern)|:\d+$/.test(arg));
}

/** What the reporter has written; nothing if vitest broke off before. */
function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { files: [], errors: [] };
  }
}

/** Everything that did not pass has failed, skipped tests included. */
function resultsOf({ files, errors }, code, skipsAllowed) {
  const results = files.map(({ tests, errors: outside, ...file }) => ({
    ...file,
    passed: tests.filter(({ state }) => state === 'passed').length,
    failures: [
      // A failed hook comes first: tests are skipped for it.
      ...outside.map((error) => ({ name: 'outside of its tests', error })),
      ...tests
        .filter(({ state }) => state !== 'passed' && !(skipsAllowed && state === 'skipped'))
        .map((test) => ({ name: test.name, error: test.errors[0] ?? test.state })),
    ],
  }));
  const whole = errors.map((error) => ({ name: 'outside of all files', error }));
  const hasFailed = whole.length > 0 || results.some(({ failures }) => failures.length > 0);
  const isEmpty = !results.some(({ passed }) => passed > 0);
  if (!hasFailed && (code !== 0 || isEmpty)) {
    whole.push({ name: 'the run', error: `exit code ${code}${isEmpty ? ', no test was run' : ''}` });
  }
  return whole.length === 0 ? results : [...results, { file: 'vitest', milliseconds: 0, passed: 0, failures: whole }];
}

/**
 * @returns {Promise<{ code: number, output: string }>} with the output where `stdio` is `'pipe'`
 */
export async function runVisibly(command, args, stdio = 'inherit') {
  const colours = stdio === 'inherit' && process.stdout.hasColors?.() ? { FORCE_COLOR: '1' } : { NO_COLOR: '1' };
  const env = { ...process.env, ...colours };
  const { code, stoppedBy, output } = await run(command, args, { env, stdio: ['ignore', stdio, stdio] });
  if (stoppedBy) throw new Interruption(stoppedBy);
  return { code, output };
}
