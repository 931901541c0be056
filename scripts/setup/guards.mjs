import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { mutations } from '../../test/fleet/faults/mutations/index.mjs';
import { run } from './run.mjs';
import { bundleProduct } from './simulation.mjs';

const FOLDER = 'dist-simulation';

/** What a simulation has no part of: the import from BullMQ, and the connections of ioredis. */
const OUTSIDE = /^(\.\.\/tools|engines\/redis\/connection|engines\/redis\/scripts)\//;

/**
 * Switches off one guard of test/fleet/faults/mutations after the other, and tells which of them simulations notice.
 *
 * @param {string} program that plays without one
 * @param {string} text of which each part between bars chooses the guards whose description contains it
 * @param {readonly string[]} args what the program is told
 * @param {{ jobs?: string, reports?: string }} options how many are played at once, and the file to which each is added as a line of JSON
 * @returns {Promise<number>} how many were missed
 */
export async function playGuards(program, text, args, { jobs = availableParallelism(), reports }) {
  const intact = join(FOLDER, 'intact.cjs');
  writeFileSync(intact, await bundleProduct());
  const chosen = mutations.filter(({ guard }) => text.split('|').some((part) => guard.includes(part)));
  const left = [...chosen.entries()];
  const results = [];
  const play = async (mutation, index) => {
    // What is compiled apart from what is simulated, such as the import, is no part of it.
    if (OUTSIDE.test(mutation.file)) return { noticed: [], differs: 0, compared: 0 };
    const product = join(FOLDER, `guard-${index}.cjs`);
    writeFileSync(product, await bundleProduct([mutation]));
    const given = [program, '--intact', intact, '--product', product, ...args];
    const { code, output } = await run(process.execPath, given, { stdio: ['ignore', 'pipe', 'pipe'] });
    rmSync(product, { force: true });
    return code === 0 ? JSON.parse(output) : { error: output };
  };
  const playAll = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [index, mutation] = next;
      const result = { guard: mutation.guard, ...(await play(mutation, index)) };
      results[index] = result;
      console.log(`${result.guard}: ${told(result)}`);
      if (reports !== undefined) appendFileSync(reports, `${JSON.stringify(result)}\n`);
    }
  };
  await Promise.all(Array.from({ length: Number(jobs) }, playAll));
  console.log(`\n${table(results)}`);
  return results.filter(({ noticed }) => !noticed?.length).length;
}

function told({ error, runs, noticed, differs, compared }) {
  if (error !== undefined) return `failed: ${error.slice(0, 1000)}`;
  if (noticed.length === 0) return `missed, trace differs in ${differs} of ${compared} seeds`;
  const rules = [...new Set(noticed.map(({ rule }) => rule))].join(', ');
  return `noticed ${noticed.length} of ${runs}, median ${medianOf(noticed)} deliveries, by rule ${rules}`;
}

/** First those that are noticed, soonest first, and then those that are missed by how often they make a difference. */
function table(results) {
  const seen = results
    .filter(({ noticed }) => noticed?.length > 0)
    .toSorted((a, b) => medianOf(a.noticed) - medianOf(b.noticed));
  const missed = results.filter(({ noticed }) => !noticed?.length).toSorted((a, b) => b.differs - a.differs);
  const unreached = missed.filter(({ differs }) => differs === 0).length;
  return [
    ...seen.map(({ guard, runs, noticed }) => [`${noticed.length} of ${runs}`, medianOf(noticed), guard]),
    ...missed.map(({ guard, differs, compared }) => ['missed', `${differs} of ${compared}`, guard]),
  ]
    .map(([share, figure, guard]) => `${share.padEnd(8)} ${String(figure).padStart(8)}  ${guard}`)
    .concat(`${seen.length} of ${results.length} noticed, ${missed.length} missed, ${unreached} of them never reached`)
    .join('\n');
}

function medianOf(noticed) {
  const counts = noticed.map(({ deliveries }) => deliveries).toSorted((a, b) => a - b);
  return counts[Math.floor((counts.length - 1) / 2)];
}
