/**
 * `npm run demo`: the pages of the dashboard with a recorded back end in place of a server, as static files in `dist-demo`.
 * `docs/guides/dashboard.md` says what for.
 */
import { join } from 'node:path';

import { ensureDependencies } from './setup/dependencies.mjs';
import { runScript } from './setup/failure.mjs';
import { ROOT } from './setup/run.mjs';

const CONFIG = 'docs/demo/vite.config.ts';

await runScript(async () => {
  await ensureDependencies();
  const { build } = await import('vite');
  await build({ configFile: join(ROOT, CONFIG) });
  console.log('The demo is in dist-demo: put its files on any static host.');
  console.log(`On this machine: npx vite preview --config ${CONFIG}`);
  return 0;
});
