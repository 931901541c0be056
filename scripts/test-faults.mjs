/**
 * `npm run test:faults`: plays the scenarios of test/fleet/faults, a few seeds each. `--seeds N`, `--seed N`, `--scenario NAME`,
 * `--minutes N` (at random for so long).
 */
import { setup as buildPrograms } from '../test/support/setup/build-programs.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runScript } from './setup/failure.mjs';
import { ensureRedisServer } from './setup/redis.mjs';
import { run } from './setup/run.mjs';

await runScript(async () => {
  await ensureDependencies();
  await ensureRedisServer();
  await buildPrograms();
  const { code } = await run(process.execPath, ['dist-test/fleet/faults/run.js', ...process.argv.slice(2)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return code;
});
