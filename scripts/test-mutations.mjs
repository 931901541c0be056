/**
 * `npm run test:mutations`: switches off one guard after another in a copy of the library and checks that a fault scenario
 * notices. If nothing notices, the guard is not tested. An argument chooses the guards whose description contains it.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { mutations } from '../test/fleet/faults/mutations.mjs';
import { setup as buildPrograms } from '../test/support/setup/build-programs.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { runScript } from './setup/failure.mjs';
import { ensureRedisServer } from './setup/redis.mjs';
import { run, runQuietly } from './setup/run.mjs';

/** Scenarios are random: it may take a few seeds to hit the moment that a guard protects. */
const SEEDS = 6;

/** The files and folders that a copy needs. */
const PARTS = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'scripts', 'lib', 'dist-test'];

await runScript(async () => {
  await ensureDependencies();
  await ensureRedisServer();
  await buildPrograms();
  const chosen = mutations.filter(({ guard }) => guard.includes(process.argv[2] ?? ''));
  const unnoticed = [];
  for (const mutation of chosen) {
    const rules = await play(mutation);
    console.log(
      `${rules ? 'noticed ' : 'MISSED  '} ${mutation.guard}\n         ${mutation.scenario}: ${rules ?? 'nothing'}`,
    );
    if (!rules) unnoticed.push(mutation);
  }
  console.log(`${chosen.length - unnoticed.length} passed, ${unnoticed.length} failed`);
  return unnoticed.length === 0 ? 0 : 1;
});

/** The rules that the mutated library breaks; undefined if none. */
async function play({ file, find, replace, scenario }) {
  const folder = mkdtempSync(join(tmpdir(), 'delay-queue-mutation-'));
  try {
    for (const part of PARTS) cpSync(part, join(folder, part), { recursive: true });
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    const path = join(folder, 'lib', file);
    const source = readFileSync(path, 'utf8');
    if (source.split(find).length !== 2) throw new Error(`${file} does not have exactly once: ${find}`);
    writeFileSync(
      path,
      source.replace(find, () => replace),
    );
    await runQuietly(process.execPath, [join(folder, 'scripts/build.mjs')]);
    for (let seed = 1; seed <= SEEDS; seed++) {
      const args = ['dist-test/fleet/faults/run.js', '--scenario', scenario, '--seed', String(seed), '--seeds', '1'];
      const { code, output } = await run(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
      if (code !== 0)
        return [...new Set(output.match(/^ {7}(?!again)[a-z-]+(?=: )/gm))].map((rule) => rule.trim()).join(', ');
    }
    return undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
