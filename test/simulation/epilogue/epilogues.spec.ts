import { beforeAll, describe, expect, it } from 'vitest';
import { type SourceMutation, bundleProduct } from '../../../scripts/setup/simulation.mjs';
import { evaluate } from '../product/evaluate.js';
import { simulate } from '../simulate.js';

interface Mutation extends SourceMutation {
  readonly guard: string;
}

// In a variable, since a script without types is imported.
const MUTATIONS = '../../fleet/faults/mutations/index.mjs';
let mutations: readonly Mutation[];

beforeAll(async () => {
  ({ mutations } = (await import(MUTATIONS)) as { mutations: readonly Mutation[] });
});

describe('the end of a simulation', () => {
  it.each([
    { epilogue: 'flushFleet', guard: 'lost session: its topics', seed: 5, topic: 'plain' },
    { epilogue: 'flushProducers', guard: 'lost partition', seed: 5, topic: 'plain' },
    { epilogue: 'flushPermits', guard: 'end of permits: whoever was away', seed: 5, topic: 'limited' },
    { epilogue: 'changeLimits', guard: 'changed limits: partitions', seed: 5, topic: 'rated-keys' },
    { epilogue: 'shareRate', guard: 'turns', seed: 1, topic: 'rated' },
    { epilogue: 'hang', guard: 'abandoned run: it spends attempts', seed: 5, topic: 'plain' },
    { epilogue: 'removeHead', guard: 'order: a key without a head', seed: 5, topic: 'ordered' },
    { epilogue: 'crash', guard: 'suspects: those of all partitions', seed: 5, topic: 'plain' },
    { epilogue: 'fill', guard: 'full Redis: outcomes that take memory', seed: 5, topic: 'plain' },
    { epilogue: 'crowd', guard: 'full Redis: a partition with a crowd', seed: 5, topic: 'plain' },
    { epilogue: 'fallSilent', guard: 'end of a session', seed: 5, topic: 'plain' },
    { epilogue: 'cutSignals', guard: 'echo', seed: 5, topic: 'plain' },
  ])('$epilogue: shows that a guard is off: $guard', async ({ epilogue, guard, seed, topic }) => {
    const mutation = mutations.find((one) => one.guard.startsWith(guard)) as Mutation;
    const plan = { seed, messages: 30, processes: 4, topics: [topic], epilogue };
    const { violations } = await simulate(evaluate(await bundleProduct([mutation])), plan);
    expect(violations).not.toEqual([]);
    expect((await simulate(evaluate(await bundleProduct()), plan)).violations).toEqual([]);
  });
});
