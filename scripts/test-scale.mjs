/**
 * `npm run test:scale`: the tests of administration and of dead letters in a fleet, with 100,000 messages, and the dashboard's overview of
 * 1,000 topics with 10 million. Its bounds are those of a quiet host.
 */
import { ensureLibraryBuilt } from './setup/build.mjs';
import { tryToInstallChromium } from './setup/chromium.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runScript } from './setup/failure.mjs';
import { startRedis } from './setup/redis.mjs';
import { localBin, run } from './setup/run.mjs';

const MESSAGES = 100_000;

await runScript(async () => {
  await ensureDependencies();
  await ensureLibraryBuilt();
  await tryToInstallChromium();
  const redis = await startRedis();
  try {
    const { code } = await run(
      localBin('vitest'),
      ['run', 'test/extended/admin.spec.ts', 'test/extended/dead-letters.spec.ts', 'test/extended/dashboard/scale'],
      {
        env: { ...process.env, REDIS_URL: redis.url, OPERATED_MESSAGES: String(MESSAGES) },
        stdio: ['ignore', 'inherit', 'inherit'],
      },
    );
    return code;
  } finally {
    await redis.stop();
  }
});
