/**
 * `npm start`: runs the order service of sample/01-order-timeout on a real Redis, from a fresh clone. Arguments go to the
 * sample, and its exit code is the script's.
 */
import { fileURLToPath } from 'node:url';

import { buildSample, ensureLibraryBuilt } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runScript } from './setup/failure.mjs';
import { startRedis } from './setup/redis.mjs';
import { run } from './setup/run.mjs';

const END_WITH_PARENT = fileURLToPath(new URL('./setup/end-with-parent.mjs', import.meta.url));

await runScript(async () => {
  await ensureDependencies();
  const redis = await startRedis();
  try {
    await ensureLibraryBuilt();
    const entry = await buildSample();
    return await runSample(entry, redis.url);
  } finally {
    await redis.stop();
  }
});

async function runSample(entry, redisUrl) {
  const { code } = await run(process.execPath, ['--import', END_WITH_PARENT, entry, ...process.argv.slice(2)], {
    env: { ...process.env, REDIS_URL: redisUrl },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  return code;
}
