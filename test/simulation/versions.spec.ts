import { beforeAll, describe, expect, it } from 'vitest';
import { bundleProduct } from '../../scripts/setup/simulation.mjs';
import { type Copy, evaluate } from './product/evaluate.js';
import type { Mutation } from './rules/guards.js';
import type { WatchedCall } from './rules/owner-rules.js';
import { answerAsOfNow, asOfNow } from './rules/version-before.js';
import { type Outcome, simulate } from './simulate.js';

/** In so many seeds at most it shows that records are shared too early. */
const MOST_SEEDS = 16;

const REGISTRY = 'fleet/topic.registry.ts';
const SHARES = 'this.#sharing = new Set(isAlike ? this.#speaking(PROTOCOL_VERSION) : []);';

/**
 * What a process of the version before does: it speaks protocol 2, raises no topic, and takes a record that deliveries share for a message
 * that another program has damaged. A clone of the last commit has no version before.
 */
const BEFORE: readonly Omit<Mutation, 'guard'>[] = [
  { file: 'store/fleet/topic-config.ts', find: 'PROTOCOL_VERSION = 3;', replace: 'PROTOCOL_VERSION = 2;' },
  { file: REGISTRY, find: SHARES, replace: 'this.#sharing = new Set();' },
  {
    file: REGISTRY,
    find: "return agreement === 'settled' ? this.#speaking(PROTOCOL_BEFORE) : [];",
    replace: 'return [];',
  },
  {
    file: 'store/lua/modules/leases.lua',
    find: 'local brought_out = string.byte(entries[i]) == 0 and bring_out(string.sub(entries[i], 2))',
    replace: 'local brought_out = false and bring_out(entries[i])',
  },
  {
    file: 'store/lua/modules/lease.lua',
    find: "if left and redis.call('ZSCORE', inflight, '\\0' .. all[i]) then",
    replace: 'if false and left then',
  },
];

/** Records are shared as soon as a topic speaks protocol 3, or the fleet could have it do so. */
const TOO_EARLY: readonly Omit<Mutation, 'guard'>[] = [
  { file: REGISTRY, find: SHARES, replace: 'this.#sharing = new Set(this.#protocols.keys());' },
  {
    file: REGISTRY,
    find: 'return this.#sharing.has(topic) && this.#protocols.get(topic) === PROTOCOL_VERSION;',
    replace: 'return this.#sharing.has(topic);',
  },
];

/** The key that only this version has of a partition. */
const SHARING = { claims: 'claims' };

let code: string;
let before: string;

beforeAll(async () => {
  [code, before] = await Promise.all([bundleProduct(), bundleProduct(BEFORE)]);
});

function beside(own: string, other: string): Copy {
  return Object.assign(evaluate(own), { beside: evaluate(other) });
}

function claim(place: object): WatchedCall {
  return { name: 'claim', place: { owner: 'o', ...place }, given: {} };
}

function publish(place: object, columns: string): WatchedCall {
  return { name: 'publish', place: { owner: 'o', ...place }, given: { columns, rest: [] } };
}

/** All that happens, whichever build does it. */
async function tellAll(copy: Copy): Promise<string[]> {
  const told: string[] = [];
  const topics = ['plain', 'ordered', 'few-attempts', 'throttled', 'recurring'];
  await simulate(copy, { seed: 4, messages: 100, processes: 4, topics }, (time, who, what) =>
    told.push(`${time} ${who} ${what.replace(', with the other build', '')}`),
  );
  return told;
}

/** Processes die with what they have claimed, and others take it over. */
async function play(copy: Copy, seed: number): Promise<Outcome> {
  const faults = { shards: 1, killedCalls: 0.02, slow: 0.2, gateways: 0, pause: 100 };
  return simulate(copy, { seed, messages: 300, processes: 4, topics: ['plain'], faults });
}

describe('the rules of a simulation', () => {
  it('read what a claim of the version before has answered', () => {
    const head = [1, 3, -1, 0, '17', '', '', 0, ''];
    expect(answerAsOfNow(claim({}), [...head, 'id', '[17]'])).toEqual([...head, '', 'id', '[17]']);
    expect(answerAsOfNow(claim({}), [0, 'another'])).toEqual([0, 'another']);
    expect(answerAsOfNow(claim(SHARING), [...head, '', 'id', '[17]'])).toEqual([...head, '', 'id', '[17]']);
  });

  it('read what a publish of the version before has sent', () => {
    expect(asOfNow(publish({}, '+1\ne\n-1,5\ntag\nof lines')).given).toEqual({
      columns: '+1\ne\n\n-1,5\ntag\nof lines',
      rest: [],
    });
    const call = publish(SHARING, '+1\ne\n0\n-1,5\n');
    expect(asOfNow(call)).toBe(call);
  });
});

describe('a fleet of two builds', () => {
  it('does what one build does alone, if both are the same', async () => {
    expect(await tellAll(beside(code, code))).toEqual(await tellAll(evaluate(code)));
  });

  it('breaks no promise beside the version before', async () => {
    const copy = beside(code, before);
    const broken: unknown[] = [];
    for (let seed = 1; seed <= 6; seed++) broken.push(...(await play(copy, seed)).violations);
    expect(broken).toEqual([]);
  });

  it('notices that records are shared while the version before lives', async () => {
    const copy = beside(await bundleProduct(TOO_EARLY), before);
    const broken = new Set<string>();
    for (let seed = 1; seed <= MOST_SEEDS && !broken.has('lost'); seed++) {
      for (const { rule } of (await play(copy, seed)).violations) broken.add(rule);
    }
    expect([...broken]).toContain('lost');
  });
});
