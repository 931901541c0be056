import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type SourceMutation, bundleProduct } from '../../scripts/setup/simulation.mjs';
import type { Plan } from './plan.js';
import { evaluate } from './product/evaluate.js';
import { shrink } from './shrink.js';
import { simulate } from './simulate.js';
import { TimeLine } from './time-line.js';

interface Mutation extends SourceMutation {
  readonly guard: string;
}

// In a variable, since a script without types is imported.
const MUTATIONS = '../fleet/faults/mutations/index.mjs';
let mutations: readonly Mutation[];

beforeAll(async () => {
  ({ mutations } = (await import(MUTATIONS)) as { mutations: readonly Mutation[] });
});

/** What has broken a promise once, and the guard that mends it. */
interface Kept {
  readonly name: string;
  readonly guard: string;
  readonly rule: string;
  readonly plan: Plan;
}

const FOLDER = join(import.meta.dirname, 'kept');
const kept = readdirSync(FOLDER).map((file) => ({
  name: file.replace('.json', ''),
  ...(JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Omit<Kept, 'name'>),
}));

async function without(guard: string): Promise<string> {
  const mutation = mutations.find((one) => one.guard.startsWith(guard));
  if (!mutation) throw new Error(`There is no guard '${guard}'`);
  return bundleProduct([mutation]);
}

describe('the rules of a simulation', () => {
  // Each with the most seeds that it takes: what is noticed later would cost those who run this too much.
  it.each([
    { guard: 'due check', rule: 'early', seeds: 1 },
    { guard: 'order: a message waits behind the head', rule: 'order', seeds: 2 },
    { guard: 'lease extension', rule: 'overlap', seeds: 4 },
    { guard: 'count of permits', rule: 'permits', seeds: 4 },
    { guard: 'log of a key', rule: 'rate', seeds: 4 },
    { guard: 'owner check', rule: 'owner', seeds: 4 },
    { guard: 'epoch of a takeover', rule: 'claim', seeds: 4 },
    { guard: 'lost reply', rule: 'claim', seeds: 4 },
  ])('$rule: notice that a guard is off: $guard', async ({ guard, rule, seeds }) => {
    const copy = evaluate(await without(guard));
    const broken = new Set<string>();
    for (let seed = 1; seed <= seeds; seed++) {
      const { violations } = await simulate(copy, { seed, messages: 1000, processes: 4 });
      for (const one of violations) broken.add(one.rule);
    }
    expect([...broken]).toContain(rule);
  });
});

describe('a plan that has found a fault', () => {
  it.each(kept)('finds it where it is not mended: $name', async ({ guard, rule, plan }) => {
    const outcome = await simulate(evaluate(await without(guard)), plan);
    expect(outcome.violations.map((one) => one.rule)).toContain(rule);
    expect((await simulate(evaluate(await bundleProduct()), plan)).violations).toEqual([]);
  });
});

describe('a promise that was broken', () => {
  it('is shown with the least that breaks it, and who did what', async () => {
    const copy = evaluate(await without('order: a message waits behind the head'));
    const plan = await shrink(copy, { seed: 1, messages: 1000, processes: 4 });
    const line = new TimeLine(false);
    const outcome = await simulate(copy, plan, (...event) => line.add(...event));
    expect(plan.topics).toEqual(['ordered']);
    expect(plan.messages).toBeLessThan(100);
    expect(line.tell(outcome)).toMatch(/begins attempt 1 of (ordered-\S+)[\s\S]+order: \1 begins before/);
  });
});
