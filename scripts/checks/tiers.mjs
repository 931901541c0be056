import { ensureLibraryBuilt } from '../setup/build.mjs';
import { tryToInstallChromium } from '../setup/chromium.mjs';
import { ensureDependencies } from '../setup/dependencies.mjs';
import { keepTestEnvironment } from '../setup/environment.mjs';
import { SetupFailure } from '../setup/failure.mjs';
import { tryToInstallFaketime } from '../setup/faketime.mjs';
import { tryToInstallPrograms } from '../setup/programs.mjs';
import { report } from './report.mjs';
import { runTests } from './run-tests.mjs';

/** What is run before a change lands, and what takes longer. `projects` are those of vitest.config.ts. */
const TIERS = {
  test: { command: 'npm test', projects: ['in-process', 'docs', 'packages', 'processes'] },
  extended: { command: 'npm run test:extended', projects: ['extended*', 'ioredis-5'], prepare: prepareExtended },
  soak: { command: 'npm run test:soak', projects: ['soak*'], prepare: prepareExtended },
};

/**
 * Runs the tests of a tier and prints the results, the counts as the last line.
 *
 * @param {keyof typeof TIERS} name
 * @param {readonly string[]} args for vitest
 * @param {() => Promise<import('./run-tests.mjs').FileResult[]>} [check] what comes first; one that `blocks` leaves out the tests
 * @returns {Promise<number>} the exit code
 */
export async function runTier(name, args, check = async () => []) {
  keepTestEnvironment();
  try {
    await ensureDependencies();
    const checks = await check();
    if (checks.some(({ blocks }) => blocks)) return report(checks);
    const tiers = [name, ...namedTiers(args)].map((tier) => TIERS[tier]);
    for (const prepare of new Set(tiers.map((tier) => tier.prepare))) await prepare?.();
    const projects = [...new Set(tiers.flatMap((tier) => tier.projects))];
    return report([...checks, ...(await runTests(TIERS[name].command, projects, args))]);
  } catch (error) {
    if (!(error instanceof SetupFailure)) throw error;
    return report([
      { file: 'the set-up', milliseconds: 0, passed: 0, failures: [{ name: 'the set-up', error: error.message }] },
    ]);
  }
}

async function prepareExtended() {
  await ensureLibraryBuilt();
  await tryToInstallFaketime();
  await tryToInstallChromium();
  await tryToInstallPrograms();
}

/** A file that is named is run whatever tier it is of. */
function namedTiers(args) {
  return Object.keys(TIERS).filter((tier) => args.some((arg) => arg.includes(`test/${tier}/`)));
}
