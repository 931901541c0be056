import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type SourceMutation, bundleProduct } from '../../scripts/setup/simulation.mjs';
import { OPERATED, RECURRING } from './fleet/topics.js';
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

/** Guards of what operators and schedules do, beside those that the harness knows. */
const OTHERS: readonly Mutation[] = [
  {
    guard: 'cancel in flight: no retry follows',
    file: 'broker/redis/lua/modules/cancel.lua',
    find: "format_record(token, delivery, attempt, last_due or now, 'c')",
    replace: 'format_record(token, delivery, attempt, last_due or now)',
  },
  {
    guard: 'edit: the envelope is replaced',
    file: 'broker/redis/lua/edit.lua',
    find: "redis.call('HSET', messages, id, envelope)",
    replace: "redis.call('HLEN', messages)",
  },
  {
    guard: 'resume: a pause ends',
    file: 'broker/redis/lua/resume.lua',
    find: "redis.call('HDEL', meta, 'paused', 'held')",
    replace: "redis.call('HDEL', meta, 'held')",
  },
  {
    guard: 'search: an id without its key is looked for in all partitions',
    file: 'producer/find-message.ts',
    find: 'Array.from({ length: partitions }, async',
    replace: 'Array.from({ length: 1 }, async',
  },
  {
    guard: 'pause of a schedule: what was published ahead is taken back',
    file: 'schedules/delay-queue.schedules.ts',
    find: 'if (found) await this.#takeBack(found);',
    replace: '',
  },
  {
    guard: 'catch-up: all that was missed is published',
    file: 'schedules/catch-up.ts',
    find: "if (next >= outage || catchUp === 'all') {",
    replace: 'if (next >= now - 1000) {',
  },
];

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
  const mutation = [...mutations, ...OTHERS].find((one) => one.guard.startsWith(guard));
  if (!mutation) throw new Error(`There is no guard '${guard}'`);
  return bundleProduct([mutation]);
}

describe('the rules of a simulation', () => {
  // Each with the most seeds that it takes: what is noticed later would cost those who run this too much.
  it.each([
    { guard: 'due check', rule: 'early', seeds: 1 },
    { guard: 'order: a message waits behind the head', rule: 'order', seeds: 2 },
    { guard: 'lease extension', rule: 'overlap', seeds: 4 },
    { guard: 'count of permits', rule: 'in-flight', seeds: 4 },
    { guard: 'log of a key', rule: 'rate', seeds: 4 },
    { guard: 'owner check', rule: 'owner', seeds: 4 },
    { guard: 'epoch of a takeover', rule: 'storm', seeds: 4 },
    { guard: 'pause: nothing', rule: 'paused', seeds: 12, topics: ['plain', OPERATED] },
    { guard: 'hold: nothing', rule: 'paused', seeds: 12, topics: ['plain', OPERATED] },
    { guard: 'cancel in flight', rule: 'gone', seeds: 12, topics: ['plain', OPERATED] },
    { guard: 'edit', rule: 'edit', seeds: 12, topics: ['plain', OPERATED] },
    { guard: 'resume', rule: 'late', seeds: 12, topics: ['plain', OPERATED] },
    { guard: 'search', rule: 'unknown', seeds: 12, topics: ['plain', OPERATED] },
    { guard: 'pause of a schedule', rule: 'occurrence', seeds: 12, topics: ['plain', RECURRING] },
    { guard: 'catch-up', rule: 'occurrence', seeds: 12, topics: ['plain', RECURRING] },
  ])('$rule: notice that a guard is off: $guard', async ({ guard, rule, seeds, topics }) => {
    const copy = evaluate(await without(guard));
    const broken = new Set<string>();
    for (let seed = 1; seed <= seeds; seed++) {
      const { violations } = await simulate(copy, { seed, messages: topics ? 500 : 1000, processes: 4, topics });
      for (const one of violations) broken.add(one.rule);
      if (broken.has(rule)) break;
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
