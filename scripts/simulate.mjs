/**
 * `npm run simulate`: plays fleets from seeds, in one thread each, with a simulated Redis, network and clock.
 *   --seed N        the first one (at random if there is none)
 *   --deliveries N  how many handler calls to play (1,000,000), or
 *   --minutes N     for how long
 *   --messages N    how many each seed publishes (2000)
 *   --processes N   of each fleet (4)
 *   --faults JSON   what goes wrong in place of what the seeds draw, as in test/simulation/world/faults.ts
 *   --topics LIST   what is published (messages of the topics that the seed draws)
 *   --epilogue NAME what is done in the end (what each seed chooses)
 *   --jobs N        how many are played at once (as many as there are processors)
 *   --with REVISION some of the processes run the product as it was then: in this version, or the one before
 *   --each          prints the hash of each seed
 *   --first         ends with the first seed that breaks a promise
 *   --brief         looks for no smaller plan then
 *   --plan FILE     plays what was saved, and prints what happens; with --lines all of it
 *   --guards TEXT   switches off, one after the other, the guards of test/fleet/faults/mutations whose description contains it (or one of its
 *                   parts between bars), and tells what is noticed, with
 *   --runs N        runs from different seeds (3), each until it is noticed or so many --deliveries are played (100,000)
 *   --reports FILE  to which each result is added as a line of JSON
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

import { ensureDependencies } from './setup/dependencies.mjs';
import { runScript } from './setup/failure.mjs';
import { run } from './setup/run.mjs';

const PRODUCT = 'dist-simulation/product.cjs';
const BESIDE = 'dist-simulation/beside.cjs';

await runScript(async () => {
  await ensureDependencies();
  const { bundleProduct, bundleRevision, bundleSimulator } = await import('./setup/simulation.mjs');
  const { main, guard } = await bundleSimulator();
  const args = process.argv.slice(2);
  mkdirSync('dist-simulation', { recursive: true });
  const guards = taken(args, '--guards');
  if (guards !== undefined) {
    const { playGuards } = await import('./setup/guards.mjs');
    const options = { jobs: taken(args, '--jobs'), reports: taken(args, '--reports') };
    return (await playGuards(guard, guards, args, options)) === 0 ? 0 : 1;
  }
  const revision = valueOf(args, '--with') ?? planned(valueOf(args, '--plan'));
  if (revision !== undefined) writeFileSync(BESIDE, await bundleRevision(revision));
  const beside = revision === undefined ? [] : ['--beside', BESIDE];
  writeFileSync(PRODUCT, await bundleProduct());
  const given = [main, '--product', PRODUCT, ...beside, ...args];
  return (await run(process.execPath, given, { stdio: ['ignore', 'inherit', 'inherit'] })).code;
});

function valueOf(args, option) {
  const at = args.indexOf(option);
  return at < 0 ? undefined : args[at + 1];
}

/** The same, for others than the program that plays. */
function taken(args, option) {
  const at = args.indexOf(option);
  return at < 0 ? undefined : args.splice(at, 2)[1];
}

/** The revision that a saved plan names. */
function planned(file) {
  return file === undefined ? undefined : JSON.parse(readFileSync(file, 'utf8')).with;
}
