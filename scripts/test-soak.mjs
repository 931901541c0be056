/**
 * `npm run test:soak`: what takes too long to run before each change: kills for minutes, many messages, whole suites on other
 * versions. Arguments are passed to vitest. The last line counts the tests: `N passed, N failed`.
 */
import { runTier } from './checks/tiers.mjs';
import { runScript } from './setup/failure.mjs';

await runScript(() => runTier('soak', process.argv.slice(2)));
