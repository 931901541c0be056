/**
 * `npm run bench`: measures the library beside other queues, from a fresh clone, on a Redis of its own. `--only NAMES` (of
 * figures, separated by commas), `--runs N`, `--quick` (too small to mean anything).
 */
import { fileURLToPath } from 'node:url';

import { buildBench, ensureLibraryBuilt } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runScript } from './setup/failure.mjs';
import { startRedis } from './setup/redis.mjs';
import { run } from './setup/run.mjs';

const END_WITH_PARENT = fileURLToPath(new URL('./setup/end-with-parent.mjs', import.meta.url));

await runScript(async () => {
  await ensureDependencies();
  // What another Redis holds must not be deleted, and its settings would decide the figures.
  const redis = await startRedis({ own: true });
  try {
    await ensureLibraryBuilt();
    const entry = await buildBench();
    const { code } = await run(process.execPath, ['--import', END_WITH_PARENT, entry, ...process.argv.slice(2)], {
      env: { ...process.env, REDIS_URL: redis.url },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    return code;
  } finally {
    await redis.stop();
  }
});
