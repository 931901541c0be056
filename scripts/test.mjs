/**
 * `npm test`: the checks and tests that need only this repository and a Redis server, from a fresh clone. Arguments are passed to
 * vitest. The last line counts the checks and tests: `N passed, N failed`.
 */
import { runVisibly } from './checks/run-tests.mjs';
import { runTier } from './checks/tiers.mjs';
import { runScript } from './setup/failure.mjs';

await runScript(() => runTier('test', process.argv.slice(2), runChecks));

/** The build comes first: the samples are linted against the built library's types, and nothing else can be tested. */
async function runChecks() {
  const build = await runCheck('build');
  if (build.failures.length > 0) return [{ ...build, blocks: true }];
  return [build, ...(await Promise.all(['lint', 'typecheck'].map(runCheck)))];
}

async function runCheck(name) {
  const command = `npm run ${name}`;
  const { code, output } = await runVisibly('npm', ['run', name], 'pipe');
  console.log(output);
  if (code === 0) return { file: command, milliseconds: 0, passed: 1, failures: [] };
  return { file: command, milliseconds: 0, passed: 0, failures: [{ name: command, error: output }], again: command };
}
