/**
 * `npm test`: the checks and tests that need only this repository and a Redis, from a fresh clone. Arguments are passed to
 * vitest. The last line counts the checks and tests: `N passed, N failed`.
 */
import { report, runTests, runVisibly } from './checks/run-tests.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { SetupFailure, runScript } from './setup/failure.mjs';
import { startRedis } from './setup/redis.mjs';

// The build comes first: the samples are linted against the built library's types. The others may run at the same time.
const CHECKS = [['build'], ['lint', 'typecheck']];

const PROJECTS = ['in-process*', 'packages', 'processes'];

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
    const projects = PROJECTS.map((name) => `--project=${name}`);
    return [...(await runChecks()), await runTests([...projects, ...process.argv.slice(2)], { REDIS_URL: redis.url })];
  } finally {
    await redis.stop();
  }
}

async function runChecks() {
  const results = [];
  for (const names of CHECKS) results.push(...(await Promise.all(names.map(runCheck))));
  return results;
}

async function runCheck(name) {
  const code = await runVisibly('npm', ['run', name]);
  return code === 0 ? { passed: 1, failures: [] } : { passed: 0, failures: [`npm run ${name}`] };
}
