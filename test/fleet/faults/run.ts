import { parseArgs } from 'node:util';
import 'reflect-metadata';
import { scenarios } from './scenarios/index.js';
import { type Result, play } from './play.js';
import { measureScriptCost } from './script-cost.js';

/** `npm run test:faults`: plays every scenario with several seeds, or at random for some minutes. */

const SEEDS = 2;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: String(SEEDS) },
    scenario: { type: 'string' },
    minutes: { type: 'string' },
  },
});

const chosen = scenarios.filter(({ name }) => values.scenario === undefined || name === values.scenario);
if (chosen.length === 0)
  throw new Error(`No scenario '${values.scenario}'. Known: ${scenarios.map(({ name }) => name).join(', ')}`);

const results: Result[] = [];
if (values.minutes === undefined) {
  const first = Number(values.seed);
  for (const [i, scenario] of chosen.entries()) {
    for (let n = 0; n < Number(values.seeds); n++) await playAndTell(i, first + i * Number(values.seeds) + n);
    console.log(`  ${scenario.shows}`);
  }
} else {
  const end = Date.now() + Number(values.minutes) * 60_000;
  for (let n = 0; Date.now() < end; n++) {
    const seed = Math.floor(Math.random() * 2 ** 32);
    await playAndTell(n % chosen.length, seed);
  }
}

/** The longest time for which a call may block Redis, in milliseconds. */
const LONGEST_CALL = 10;

let tooSlow = 0;
if (values.scenario === undefined && values.minutes === undefined) {
  const { backlog, handled, longest } = await measureScriptCost();
  tooSlow = longest > LONGEST_CALL ? 1 : 0;
  console.log(
    `${tooSlow ? 'SLOW  ' : 'ok    '} script cost: with ${backlog} messages due at once in one partition, ${handled} of ` +
      `them handled, the longest call took ${longest.toFixed(1)} ms`,
  );
}

const broken = results.filter(({ violations }) => violations.length > 0);
const sum = (value: (result: Result) => number): number => results.reduce((total, result) => total + value(result), 0);
const of = (rule: string): number =>
  sum(({ violations }) => violations.filter((violation) => violation.rule === rule).length);
console.log(
  `${sum(({ published }) => published)} messages, ${sum(({ deliveries }) => deliveries)} deliveries, ` +
    `${sum(({ faults }) => faults)} faults: ${of('lost')} lost, ${of('overlap')} overlapping, ${of('early')} early`,
);
const failed = broken.length + tooSlow;
console.log(`${results.length - broken.length} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

async function playAndTell(index: number, seed: number): Promise<void> {
  const scenario = chosen[index];
  if (!scenario) return;
  const result = await play(scenario, seed);
  results.push(result);
  const { published, rejected, deliveries, stale, latest, faults, violations } = result;
  console.log(
    `${violations.length === 0 ? 'ok    ' : 'BROKEN'} ${scenario.name} (seed ${seed}): ${published} messages, ` +
      `${rejected} rejected, ${deliveries} deliveries, ${stale} stale settles, at most ${latest} ms late, ${faults} faults`,
  );
  for (const { rule, detail } of violations.slice(0, 10)) console.log(`       ${rule}: ${detail}`);
  if (violations.length > 0) {
    console.log(result.output);
    console.log(`       again: npm run test:faults -- --scenario ${scenario.name} --seed ${seed} --seeds 1`);
  }
}
