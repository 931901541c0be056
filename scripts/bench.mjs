/**
 * `npm run bench`: compares the library with other queues, from a fresh clone, on a private Redis. `--only NAMES` (of
 * figures, separated by commas), `--runs N`, `--quick` (too small to mean anything).
 */
import { buildBench, ensureLibraryBuilt } from './setup/build.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runScript } from './setup/failure.mjs';
import { tryToInstallPrograms } from './setup/programs.mjs';
import { startRedis } from './setup/redis.mjs';
import { runApplication } from './setup/run.mjs';

await runScript(async () => {
  await ensureDependencies();
  // Always a private Redis: the benchmark deletes all data, and another Redis's settings would affect the figures.
  const redis = await startRedis({ own: true });
  try {
    await ensureLibraryBuilt();
    await tryToInstallPrograms(['valgrind']);
    const entry = await buildBench();
    const { code } = await runApplication(entry, process.argv.slice(2), { redisUrl: redis.url });
    return code;
  } finally {
    await redis.stop();
  }
});
