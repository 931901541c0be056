/**
 * `npm run simulate`: plays fleets from seeds, in one thread each, with a simulated Redis, network and clock.
 *   --seed N        the first one (at random if there is none)
 *   --deliveries N  how many handler calls to play (1,000,000), or
 *   --minutes N     for how long
 *   --messages N    how many each seed publishes (2000)
 *   --processes N   of each fleet (4)
 *   --faults JSON   what goes wrong in place of what the seeds draw, as in test/simulation/world/faults.ts
 *   --topics LIST   what is published (messages of the topics that the seed draws)
 *   --jobs N        how many are played at once (as many as there are processors)
 *   --with REVISION some of the processes run the product as it was then
 *   --each          prints the hash of each seed
 *   --first         ends with the first seed that breaks a promise
 *   --brief         looks for no smaller plan then
 *   --plan FILE     plays what was saved, and prints what happens; with --lines all of it
 *   --guards TEXT   switches off, one after the other, the guards of test/fleet/faults/mutations whose description contains it
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

import { mutations } from '../test/fleet/faults/mutations/index.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runScript } from './setup/failure.mjs';
import { run } from './setup/run.mjs';

const PRODUCT = 'dist-simulation/product.cjs';
const BESIDE = 'dist-simulation/beside.cjs';

await runScript(async () => {
  await ensureDependencies();
  const { bundleProduct, bundleRevision, bundleSimulator } = await import('./setup/simulation.mjs');
  const program = await bundleSimulator();
  const args = process.argv.slice(2);
  mkdirSync('dist-simulation', { recursive: true });
  const revision = valueOf(args, '--with') ?? planned(valueOf(args, '--plan'));
  if (revision !== undefined) writeFileSync(BESIDE, await bundleRevision(revision));
  const beside = revision === undefined ? [] : ['--beside', BESIDE];
  const play = async (mutated, more = []) => {
    writeFileSync(PRODUCT, await bundleProduct(mutated));
    const given = [program, '--product', PRODUCT, ...beside, ...args, ...more];
    return run(process.execPath, given, { stdio: ['ignore', 'inherit', 'inherit'] });
  };
  const at = args.indexOf('--guards');
  if (at < 0) return (await play([])).code;
  const [, text = ''] = args.splice(at, 2);
  let missed = 0;
  for (const mutation of mutations.filter(({ guard }) => text.split('|').some((part) => guard.includes(part)))) {
    console.log(`\n${mutation.guard}`);
    const { code } = await play([mutation], ['--first', '--brief']);
    if (code === 0) missed++;
    console.log(code === 0 ? 'MISSED' : 'noticed');
  }
  return missed === 0 ? 0 : 1;
});

function valueOf(args, option) {
  const at = args.indexOf(option);
  return at < 0 ? undefined : args[at + 1];
}

/** The revision that a saved plan names. */
function planned(file) {
  return file === undefined ? undefined : JSON.parse(readFileSync(file, 'utf8')).with;
}
