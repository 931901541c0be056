/**
 * `npm run test:extended`: the tests that `npm test` leaves out, since they take minutes or depend on what others publish. It
 * installs what it needs in temporary folders. Arguments are passed to vitest and replace the choice of tests below. The last
 * line counts the tests: `N passed, N failed`.
 */
import { report, runTests } from './checks/run-tests.mjs';
import { ensureLibraryBuilt } from './setup/build.mjs';
import { tryToInstallChromium } from './setup/chromium.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { SetupFailure, runScript } from './setup/failure.mjs';
import { tryToInstallFaketime } from './setup/faketime.mjs';
import { tryToInstallLanguages } from './setup/languages.mjs';
import { tryToInstallRabbitmq } from './setup/rabbitmq.mjs';
import { startRedis } from './setup/redis.mjs';

const EXTENDED = ['--project', 'extended*'];

/** The tests that use ioredis, which have to pass with its older major version too. */
const WITH_IOREDIS_5 = [
  '--project=in-process',
  'test/contract',
  'test/integration',
  'test/e2e',
  // No ioredis is in them: messages are kept in memory there.
  '--exclude=test/e2e/testing/**',
  // What they test lies above the commands that the others send.
  '--exclude=test/e2e/{dashboard,gateway,push}*.spec.ts',
  '--exclude=test/e2e/nest/!(connection*).spec.ts',
];

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
  await tryToInstallChromium();
  await tryToInstallLanguages();
  await tryToInstallRabbitmq();
  const redis = await startRedis();
  const env = { REDIS_URL: redis.url };
  try {
    const chosen = process.argv.slice(2);
    if (chosen.length > 0) return [await runTests([...EXTENDED, ...chosen], env)];
    return [await runTests(EXTENDED, env), await runTests(WITH_IOREDIS_5, { ...env, IOREDIS: 'ioredis-5' })];
  } finally {
    await redis.stop();
  }
}
