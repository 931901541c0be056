import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { PLAN_OPTIONS, planOf } from './plan.js';
import { type Copy, evaluate } from './product/evaluate.js';
import { simulate } from './simulate.js';

/** The program that `npm run simulate -- --guards` runs for each guard: it prints what the simulation notices without it, as JSON. */
const { values } = parseArgs({
  options: {
    ...PLAN_OPTIONS,
    messages: { ...PLAN_OPTIONS.messages, default: '100' },
    intact: { type: 'string' },
    product: { type: 'string' },
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '3' },
    deliveries: { type: 'string', default: '100000' },
  },
});

/** How many seeds there are between the first ones of two runs. */
const APART = 100_000;

/** How many seeds are compared with those of the intact product. */
const COMPARED = 10;

interface Noticed {
  readonly rule: string;
  readonly text: string;
  readonly seed: number;
  /** How many there were in this run until then. */
  readonly deliveries: number;
}

const intact = read(String(values.intact));
const mutated = read(String(values.product));
const first = Number(values.seed);

/** Of the seeds that were played without the guard. */
const hashes = new Map<number, string>();
const noticed: Noticed[] = [];
for (let number = 0; number < Number(values.runs); number++) {
  const found = await look(first + number * APART);
  if (found) noticed.push(found);
}
const compared = [...hashes].slice(0, COMPARED);
const differs = noticed.length > 0 ? undefined : await reach();
console.log(JSON.stringify({ runs: Number(values.runs), noticed, differs, compared: compared.length }));

function read(file: string): Copy {
  return evaluate(readFileSync(file, 'utf8'));
}

/** Plays until a promise is broken that the intact product keeps. */
async function look(from: number): Promise<Noticed | undefined> {
  let deliveries = 0;
  for (let seed = from; deliveries < Number(values.deliveries); seed++) {
    const outcome = await play(mutated, seed);
    hashes.set(seed, outcome.hash);
    deliveries += outcome.deliveries;
    const { rule, text } = outcome.violations[0] ?? {};
    if (rule === undefined || text === undefined) continue;
    const { violations } = await play(intact, seed);
    if (violations[0]?.rule !== rule) return { rule, text, seed, deliveries };
  }
  return undefined;
}

/** In how many seeds anything at all is different. */
async function reach(): Promise<number> {
  let count = 0;
  for (const [seed, hash] of compared) if ((await play(intact, seed)).hash !== hash) count++;
  return count;
}

async function play(copy: Copy, seed: number): ReturnType<typeof simulate> {
  return simulate(copy, planOf(values, seed));
}
