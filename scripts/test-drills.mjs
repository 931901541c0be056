/**
 * `npm run test:drills`: plays the drills of test/drills. `--only NAMES` (separated by commas), `--times N` (disturbances a
 * drill), `--seed N`, `--short` (as test:extended plays them).
 */
import { setup as buildPrograms } from '../test/support/setup/build-programs.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runScript } from './setup/failure.mjs';
import { tryToInstallFaketime } from './setup/faketime.mjs';
import { ensureRedisServer } from './setup/redis.mjs';
import { run } from './setup/run.mjs';

await runScript(async () => {
  await ensureDependencies();
  const { path: REDIS_SERVER } = await ensureRedisServer();
  await tryToInstallFaketime();
  await buildPrograms();
  const { code } = await run(process.execPath, ['dist-test/drills/run.js', ...process.argv.slice(2)], {
    env: { ...process.env, REDIS_SERVER },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return code;
});
