import { createHash } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { bundleProduct } from '../../scripts/setup/simulation.mjs';
import { type Copy, evaluate } from './product/evaluate.js';
import { simulate } from './simulate.js';

const MESSAGES = 1000;

/** About a minute of an idle machine. */
const SEEDS = 30;

let code: string;
let copy: Copy;

beforeAll(async () => {
  code = await bundleProduct();
  copy = evaluate(code);
});

it('no promise is broken in the first seeds', async () => {
  expect(await firstBroken(1)).toBeUndefined();
}, 600_000);

it('no promise is broken in seeds that only this build plays', async () => {
  expect(await firstBroken(createHash('sha256').update(code).digest().readUInt32BE())).toBeUndefined();
}, 600_000);

/** To be looked into with `npm run simulate -- --seed … --messages 1000`. */
async function firstBroken(first: number): Promise<unknown> {
  for (let seed = first; seed < first + SEEDS; seed++) {
    const { violations } = await simulate(copy, { seed, messages: MESSAGES, processes: 4 });
    if (violations.length > 0) return { seed, violations };
  }
  return undefined;
}
