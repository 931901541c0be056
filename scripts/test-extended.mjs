/**
 * `npm run test:extended`: the tests that `npm test` leaves out, since they take minutes or depend on what others publish. It
 * installs what it needs in temporary folders. Arguments are passed to vitest and replace the choice of tests below. The last
 * line counts the tests: `N passed, N failed`.
 */
import { report, runTests } from './checks/run-tests.mjs';
import { ensureLibraryBuilt } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { SetupFailure, runScript } from './setup/failure.mjs';
import { tryToInstallFaketime } from './setup/faketime.mjs';
import { startRedis } from './setup/redis.mjs';

/** The tests that use ioredis, which have to pass with its older major version too. */
const WITH_IOREDIS_5 = ['--project=in-process', 'test/contract', 'test/integration', 'test/e2e'];

await runScript(async () => {
  const results = await testEverything().catch((error) => {
    if (!(error instanceof SetupFailure)) throw error;
    return [{ passed: 0, failures: [`the set-up: ${error.message}`] }];
  });
  return report(results);
});

async function testEverything() {
  await ensureDependencies();
  await ensureLibraryBuilt();
  await tryToInstallFaketime();
  const redis = await startRedis();
  const env = { REDIS_URL: redis.url };
  try {
    const chosen = process.argv.slice(2);
    if (chosen.length > 0) return [await runTests(['--project', 'extended', ...chosen], env)];
    return [
      await runTests(['--project', 'extended'], env),
      await runTests(WITH_IOREDIS_5, { ...env, IOREDIS: 'ioredis-5' }),
    ];
  } finally {
    await redis.stop();
  }
}
