/**
 * `npm test`: everything that CI checks, from a fresh clone. Arguments go to vitest. The last line counts the checks and
 * tests: `N passed, N failed`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { countTests } from './checks/test-results.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { Interruption, SetupFailure, runScript } from './setup/failure.mjs';
import { ensureRedisServer, startRedis } from './setup/redis.mjs';
import { localBin, run } from './setup/run.mjs';

// The build comes first: the samples are linted against the built library's types.
const CHECKS = ['build', 'lint', 'typecheck'];

await runScript(async () => {
  const results = await checkEverything().catch((error) => {
    if (!(error instanceof SetupFailure)) throw error;
    return [{ passed: 0, failures: [`the set-up: ${error.message}`] }];
  });
  return report(results);
});

async function checkEverything() {
  await ensureDependencies();
  const redis = await startRedis();
  try {
    return [...(await runChecks()), await runTests(redis.url)];
  } finally {
    await redis.stop();
  }
}

async function runChecks() {
  const results = [];
  for (const name of CHECKS) {
    const code = await runVisibly('npm', ['run', name]);
    results.push(code === 0 ? { passed: 1, failures: [] } : { passed: 0, failures: [`npm run ${name}`] });
  }
  return results;
}

async function runTests(redisUrl) {
  const folder = mkdtempSync(join(tmpdir(), 'nestjs-delay-queue-test-'));
  try {
    const file = join(folder, 'results.json');
    const chosen = process.argv.slice(2);
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    // Tests start more servers, of the same kind.
    const { path: REDIS_SERVER } = await ensureRedisServer();
    const env = { ...process.env, REDIS_URL: redisUrl, REDIS_SERVER };
    const exitCode = await runVisibly(localBin('vitest'), ['run', ...reporters, ...chosen], env);
    return countTests(file, { exitCode, skipsAllowed: choosesTests(chosen) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** vitest reports the tests that a name pattern or a line number leaves out as skipped. */
function choosesTests(args) {
  return args.some((arg) => /^(-t|--testNamePattern)|:\d+$/.test(arg));
}

async function runVisibly(command, args, env = process.env) {
  const { code, stoppedBy } = await run(command, args, { env, stdio: ['ignore', 'inherit', 'inherit'] });
  if (stoppedBy) throw new Interruption(stoppedBy);
  return code;
}

function report(results) {
  const failures = results.flatMap((result) => result.failures);
  const passed = results.reduce((sum, result) => sum + result.passed, 0);
  if (failures.length > 0) console.log(`\nNot passed:\n${failures.map((failure) => `  ${failure}`).join('\n')}`);
  console.log(`\n${passed} passed, ${failures.length} failed`);
  return failures.length === 0 ? 0 : 1;
}
