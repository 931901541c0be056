import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { endLeftProcesses } from '../support/processes/left-processes.js';
import { drills } from './drills/index.js';
import { linesOf, play } from './play.js';

/** `npm run test:drills`: plays the drills one after the other. The last line counts them: `N passed, N failed`. */

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    times: { type: 'string' },
    seed: { type: 'string', default: '1' },
    short: { type: 'boolean', default: false },
  },
});

const names = values.only?.split(',') ?? drills.map(({ name }) => name);
const unknown = names.filter((name) => !drills.some((drill) => drill.name === name));
if (unknown.length > 0) {
  throw new Error(`No drill ${unknown.join(', ')}. Known: ${drills.map(({ name }) => name).join(', ')}`);
}

const folder = mkdtempSync(join(tmpdir(), 'delay-queue-drills-'));
process.env['TEST_RUN_FOLDER'] = folder;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.once('exit', () => {
  endLeftProcesses(folder);
  rmSync(folder, { recursive: true, force: true });
});

const failed: string[] = [];
const seed = Number(values.seed);
const chosen = drills.filter(({ name, short }) => names.includes(name) && (!values.short || short !== undefined));
for (const drill of chosen) {
  const times = Number(values.times ?? (values.short ? drill.short : drill.times));
  const startedAt = performance.now();
  const result = await play(drill, times, seed);
  const took = ((performance.now() - startedAt) / 1000).toFixed(0);
  const ok = result.findings.length === 0;
  if (!ok) failed.push(drill.name);
  console.log(`${ok ? 'ok    ' : 'BROKEN'} ${drill.name} (${times} times, seed ${seed}, ${took} s): ${drill.shows}`);
  for (const line of linesOf(result)) console.log(`       ${line}`);
  if (!ok) {
    console.log(result.output.slice(-5000));
    console.log(`       again: npm run test:drills -- --only ${drill.name} --times ${times} --seed ${seed}`);
  }
}
console.log(`${chosen.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;
