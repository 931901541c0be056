/**
 * `npm run test:mutations`: switches off one guard after another in a copy of the library and checks that a fault scenario
 * notices, or a spec file for what no scenario can see. If nothing notices, the guard is not tested. An argument chooses the
 * guards whose description contains it.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { mutations } from '../test/fleet/faults/mutations/index.mjs';
import { setup as buildPrograms } from '../test/support/setup/build-programs.mjs';
import { ensureDependencies } from './setup/dependencies.mjs';
import { Interruption, runScript } from './setup/failure.mjs';
import { mutate } from './setup/mutate.mjs';
import { ensureRedisServer } from './setup/redis.mjs';
import { localBin, run, runQuietly } from './setup/run.mjs';

/** Scenarios are random: it may take a few seeds to hit the moment that a guard protects. */
const SEEDS = 6;

/** The files and folders that a copy needs, and for a spec file besides. */
const PARTS = [
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'scripts',
  'lib',
  'tools',
  'clients',
  'dist-test',
];
const PARTS_FOR_SPECS = ['test', 'vitest.config.ts'];

await runScript(async () => {
  await ensureDependencies();
  await ensureRedisServer();
  await buildPrograms();
  const chosen = mutations.filter(({ guard }) => guard.includes(process.argv[2] ?? ''));
  const unnoticed = [];
  for (const mutation of chosen) {
    const rules = await play(mutation);
    console.log(
      `${rules ? 'noticed ' : 'MISSED  '} ${mutation.guard}\n         ${mutation.scenario ?? mutation.spec}: ${rules ?? 'nothing'}`,
    );
    if (!rules) unnoticed.push(mutation);
  }
  console.log(`${chosen.length - unnoticed.length} passed, ${unnoticed.length} failed`);
  return unnoticed.length === 0 ? 0 : 1;
});

/** What shows that the mutated library lacks a guard: rules that it breaks, or tests that fail; undefined if nothing does. */
async function play(mutation) {
  const { file, scenario, spec } = mutation;
  const folder = mkdtempSync(join(tmpdir(), 'delay-queue-mutation-'));
  try {
    const parts = spec ? [...PARTS, ...PARTS_FOR_SPECS] : PARTS;
    // What was compiled stays newer than its sources.
    for (const part of parts) cpSync(part, join(folder, part), { recursive: true, preserveTimestamps: true });
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    const path = join(folder, 'lib', file);
    writeFileSync(path, mutate(readFileSync(path, 'utf8'), mutation));
    await runQuietly(process.execPath, [join(folder, 'scripts/build.mjs')]);
    return spec ? await failedTests(folder, spec) : await brokenRules(folder, scenario);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function brokenRules(folder, scenario) {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const args = ['dist-test/fleet/faults/run.js', '--scenario', scenario, '--seed', String(seed), '--seeds', '1'];
    const { code, output } = await runIn(folder, process.execPath, args);
    if (code !== 0) return namesIn(output, /^ {7}(?!again)([a-z-]+)(?=: )/gm);
  }
  return undefined;
}

async function failedTests(folder, spec) {
  const { code, output } = await runIn(folder, localBin('vitest'), ['run', '--project', 'in-process', spec]);
  return code === 0 ? undefined : namesIn(output, /^ *FAIL .* > (.+)$/gm);
}

async function runIn(folder, command, args) {
  const env = { ...process.env, NO_COLOR: '1' };
  const { code, stoppedBy, output } = await run(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  if (stoppedBy) throw new Interruption(stoppedBy);
  return { code, output };
}

/** @throws {Error} with the output if it failed for another reason */
function namesIn(output, pattern) {
  const names = new Set(Array.from(output.matchAll(pattern), ([, name]) => name));
  if (names.size === 0) throw new Error(`It failed, though no promise was broken:\n${output}`);
  return [...names].join(', ');
}
