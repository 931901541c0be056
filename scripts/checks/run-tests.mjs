import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Interruption } from '../setup/failure.mjs';
import { ensureRedisServer } from '../setup/redis.mjs';
import { localBin, run } from '../setup/run.mjs';
import { countTests } from './test-results.mjs';

/** @typedef {{ passed: number, failures: string[] }} Result */

/**
 * Runs vitest and counts the results.
 *
 * @param {readonly string[]} args for vitest
 * @param {NodeJS.ProcessEnv} env additions to this process's environment
 * @returns {Promise<Result>}
 */
export async function runTests(args, env) {
  const folder = mkdtempSync(join(tmpdir(), 'nestjs-delay-queue-test-'));
  try {
    const file = join(folder, 'results.json');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    // Tests start more servers with the same executable.
    const { path: REDIS_SERVER } = await ensureRedisServer();
    const whole = { ...process.env, REDIS_SERVER, ...env };
    const exitCode = await runVisibly(localBin('vitest'), ['run', ...reporters, ...args], whole);
    return countTests(file, { exitCode, skipsAllowed: choosesTests(args) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** vitest reports the tests that a name pattern or a line number leaves out as skipped. */
function choosesTests(args) {
  return args.some((arg) => /^(-t|--testNamePattern)|:\d+$/.test(arg));
}

/** @returns {Promise<number>} the exit code */
export async function runVisibly(command, args, env = process.env) {
  const { code, stoppedBy } = await run(command, args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
  if (stoppedBy) throw new Interruption(stoppedBy);
  return code;
}

/**
 * Prints what did not pass, and the counts as the last line.
 *
 * @param {readonly Result[]} results
 * @returns {number} the exit code
 */
export function report(results) {
  const failures = results.flatMap((result) => result.failures);
  const passed = results.reduce((sum, result) => sum + result.passed, 0);
  if (failures.length > 0) console.log(`\nNot passed:\n${failures.map((failure) => `  ${failure}`).join('\n')}`);
  console.log(`\n${passed} passed, ${failures.length} failed`);
  return failures.length === 0 ? 0 : 1;
}
