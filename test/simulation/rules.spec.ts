import { beforeAll, describe, expect, it } from 'vitest';
import { bundleProduct } from '../../scripts/setup/simulation.mjs';
import { OPERATED, RECURRING } from './fleet/topics.js';
import { type Copy, evaluate } from './product/evaluate.js';
import { type Mutation, moreGuards } from './rules/guards.js';
import { shrink } from './shrink.js';
import { simulate } from './simulate.js';
import { TimeLine } from './time-line.js';
import type { Faults } from './world/faults.js';

/** In so many seeds at most the end of a simulation has to show that a guard is off. */
const MOST_SEEDS = 40;

// In a variable, since a script without types is imported.
const MUTATIONS = '../fleet/faults/mutations/index.mjs';
let mutations: readonly Mutation[];
let intact: Copy;

beforeAll(async () => {
  const imported = (await import(MUTATIONS)) as { mutations: readonly Mutation[] };
  mutations = [...imported.mutations, ...moreGuards];
  intact = evaluate(await bundleProduct());
});

async function without(guard: string): Promise<string> {
  const found = mutations.find((one) => one.guard.startsWith(guard));
  if (!found) throw new Error(`There is no guard '${guard}'`);
  return bundleProduct(mutations.filter((one) => one.guard === found.guard));
}

describe('the rules of a simulation', () => {
  // Each with the most seeds that it takes, and the topics: what is noticed later would cost those who run this too much.
  it.each<{ guard: string; rule: string; topics: string[]; seeds?: number; only?: string[]; faults?: Partial<Faults> }>(
    [
      { guard: 'due check', rule: 'early', topics: ['once'] },
      { guard: 'order: a message waits behind the head', rule: 'order', topics: ['ordered'] },
      { guard: 'lease extension', rule: 'overlap', topics: ['plain'], seeds: 24 },
      { guard: 'count of permits', rule: 'permits', topics: ['limited'] },
      { guard: 'log of a key', rule: 'rate', topics: ['rated-keys'] },
      { guard: 'owner check', rule: 'owner', topics: ['plain'], seeds: 4 },
      { guard: 'epoch of a takeover', rule: 'claim', topics: ['plain'], seeds: 4 },
      { guard: 'attempts: a failure spends one', rule: 'attempt', topics: ['few-attempts'] },
      { guard: 'attempts: after the last one', rule: 'dead', topics: ['few-attempts'] },
      { guard: 'backoff: a retry waits for it', rule: 'backoff', topics: ['few-attempts'] },
      { guard: 'backoff: a retry waits for nothing else', rule: 'late', topics: ['few-attempts'], only: [] },
      { guard: 'expiry: what comes', rule: 'expired', topics: ['expiring'], seeds: 4 },
      { guard: 'expiry: what was', rule: 'dead', topics: ['expiring'], seeds: 4 },
      { guard: 'hold: nothing', rule: 'held', topics: ['busy'] },
      { guard: 'at most once', rule: 'once', topics: ['once'] },
      { guard: 'abandoned run: its message is not called', rule: 'twice', topics: ['hanging'] },
      { guard: 'batch', rule: 'batch', topics: ['batched'] },
      { guard: 'slots', rule: 'slots', topics: ['first', 'second'] },
      { guard: 'priority', rule: 'turn', topics: ['first', 'second'], seeds: 4, only: [] },
      { guard: 'memory of the first publish', rule: 'repeated', topics: ['debounced'] },
      // Where operators do less, a pause lasts longer than the leases of what was claimed before.
      {
        guard: 'pause: nothing',
        rule: 'paused',
        topics: ['plain', OPERATED],
        seeds: 24,
        faults: { operateEvery: 1000 },
      },
      { guard: 'hold: nothing', rule: 'held', topics: ['plain', OPERATED], seeds: 12 },
      {
        guard: 'cancel in flight',
        rule: 'gone',
        topics: ['plain', OPERATED],
        seeds: 12,
        faults: { operateEvery: 50, slow: 0.5 },
      },
      { guard: 'edit', rule: 'edit', topics: ['plain', OPERATED], seeds: 12 },
      { guard: 'resume', rule: 'lost', topics: ['plain', OPERATED], seeds: 12 },
      { guard: 'search: an id', rule: 'unknown', topics: ['plain', OPERATED], seeds: 12 },
      {
        guard: 'pause of a schedule',
        rule: 'occurrence',
        topics: ['plain', RECURRING],
        seeds: 12,
        faults: { scheduleEvery: 500 },
      },
      // Where Redis's clock is set forward, much is missed at once.
      {
        guard: 'catch-up',
        rule: 'storm',
        topics: ['plain', RECURRING],
        seeds: 8,
        faults: { scheduleEvery: 500, stepEvery: 2000, step: 60_000 },
      },
      {
        guard: 'receipts: of two settles',
        rule: 'again',
        topics: ['plain', 'received'],
        seeds: 24,
        faults: { gateways: 2, twice: 0.5 },
      },
      { guard: 'damage', rule: 'storm', topics: ['plain'], only: ['damage 1'], faults: { damageEvery: 100 } },
    ],
  )('$rule: notice that a guard is off: $guard', async ({ guard, rule, topics, seeds = 1, only, faults }) => {
    const rest = { only, faults: { shards: 1, damageEvery: Infinity, gateways: 0, imports: 0, ...faults } };
    const copy = evaluate(await without(guard));
    const broken = new Set<string>();
    for (let seed = 1; seed <= seeds && !broken.has(rule); seed++) {
      const { violations } = await simulate(copy, { seed, messages: 1000, processes: 4, topics, ...rest });
      for (const one of violations) broken.add(one.rule);
    }
    expect([...broken]).toContain(rule);
  });
});

describe('the end of a simulation', () => {
  // In one of the first seeds; which one changes with each call that the product makes.
  it.each<{ epilogue: string; guard: string; topic: string; shards?: number }>([
    { epilogue: 'flushFleet', guard: 'lost session: its topics', topic: 'plain' },
    { epilogue: 'flushProducers', guard: 'lost partition', topic: 'plain' },
    { epilogue: 'flushPermits', guard: 'end of permits: whoever was away', topic: 'limited' },
    { epilogue: 'changeLimits', guard: 'changed limits: partitions', topic: 'rated-keys' },
    { epilogue: 'hang', guard: 'abandoned run: it spends attempts', topic: 'hanging' },
    { epilogue: 'removeHead', guard: 'order: a key without a head', topic: 'ordered' },
    { epilogue: 'crash', guard: 'suspects: those of all partitions', topic: 'plain' },
    { epilogue: 'fill', guard: 'full Redis: outcomes that take memory', topic: 'plain' },
    { epilogue: 'crowd', guard: 'full Redis: a partition with a crowd', topic: 'plain' },
    { epilogue: 'fallSilent', guard: 'end of a session', topic: 'plain' },
    { epilogue: 'cutSignals', guard: 'echo', topic: 'plain' },
    { epilogue: 'lowerFlight', guard: 'count of permits: a lower', topic: 'limited' },
    { epilogue: 'standInLine', guard: 'line for permits', topic: 'limited' },
    { epilogue: 'farAway', guard: 'begin of a permit: it follows', topic: 'rated' },
    { epilogue: 'damageBackoff', guard: 'stored options', topic: 'plain' },
    { epilogue: 'dieLate', guard: 'dead letters', topic: 'few-attempts' },
    { epilogue: 'drain', guard: 'drain', topic: 'ordered' },
    { epilogue: 'runHead', guard: 'run now', topic: 'ordered-rated' },
    { epilogue: 'findTwins', guard: 'search among several', topic: 'few-attempts' },
    { epilogue: 'resumeHeld', guard: 'hold of a handler', topic: 'busy' },
    { epilogue: 'resumeUnheard', guard: 'paused partition', topic: 'plain' },
    { epilogue: 'goOnUnheard', guard: 'order: whoever settles', topic: 'ordered' },
    { epilogue: 'receiveAtOnce', guard: 'receiving: nothing', topic: 'plain' },
    { epilogue: 'occurLate', guard: 'schedules: what is late', topic: 'plain,recurring' },
    { epilogue: 'moveSchedule', guard: 'schedules: what was stored', topic: 'plain' },
    { epilogue: 'pruneStopped', guard: 'prune: a topic', topic: 'plain' },
    { epilogue: 'takeTurns', guard: 'turns: what is due', topic: 'first,second' },
    { epilogue: 'silenceShard', guard: 'unanswered claim: its slots', topic: 'plain,first,second', shards: 3 },
    { epilogue: 'leaveShard', guard: 'failed claim: its slots', topic: 'first,second', shards: 3 },
    { epilogue: 'emptyShard', guard: 'lost session: a process that finds', topic: 'plain', shards: 2 },
  ])('$epilogue: shows that a guard is off: $guard', async ({ epilogue, guard, topic, shards = 1 }) => {
    const copy = evaluate(await without(guard));
    const plan = {
      messages: 30,
      processes: 4,
      topics: topic.split(','),
      epilogue,
      faults: { shards, gateways: 0, imports: 0 },
    };
    let shown: number | undefined;
    for (let seed = 1; seed <= MOST_SEEDS && shown === undefined; seed++) {
      const { violations } = await simulate(copy, { seed, ...plan });
      if (violations.length > 0) shown = seed;
    }
    expect(shown).toBeDefined();
    expect((await simulate(intact, { seed: shown as number, ...plan })).violations).toEqual([]);
  });
});

describe('a promise that was broken', () => {
  it('is shown with the least that breaks it, and who did what', async () => {
    const copy = evaluate(await without('order: a message waits behind the head'));
    const plan = await shrink(copy, { seed: 1, messages: 1000, processes: 4, topics: ['plain', 'ordered'] });
    const line = new TimeLine(false);
    const outcome = await simulate(copy, plan, (...event) => line.add(...event));
    expect(plan.topics).toEqual(['ordered']);
    expect(plan.messages).toBeLessThan(100);
    expect(line.tell(outcome)).toMatch(/begins attempt 1 of (ordered-\S+)[\s\S]+order: \1 begins before/);
  });
});
