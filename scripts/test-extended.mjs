/**
 * `npm run test:extended`: the environments of users, with the versions that their ranges allow where `npm test` has those of the lock
 * file, and a short form of each drill. Arguments are passed to vitest. The last line counts the tests: `N passed, N failed`.
 */
import { runTier } from './checks/tiers.mjs';
import { runScript } from './setup/failure.mjs';

await runScript(() => runTier('extended', process.argv.slice(2)));
