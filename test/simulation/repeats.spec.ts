import { beforeAll, describe, expect, it, vi } from 'vitest';
import { bundleProduct } from '../../scripts/setup/simulation.mjs';
import { type Copy, evaluate } from './product/evaluate.js';
import { savedPlan } from './plan.js';
import { type Outcome, simulate } from './simulate.js';
import type { Listener } from './world/world.js';

const MESSAGES = 500;

let code: string;
let copy: Copy;

beforeAll(async () => {
  code = await bundleProduct();
  copy = evaluate(code);
});

/** The files whose calls have led to this one. */
function callers(): string[] {
  const errors: { prepareStackTrace?: unknown } = Error;
  const before = errors.prepareStackTrace;
  Error.prepareStackTrace = (_, calls) => calls.map((call) => String(call.getFileName()));
  const files = new Error('callers').stack as unknown as string[];
  errors.prepareStackTrace = before;
  return files;
}

async function play(seed: number, of = copy, listener?: Listener): Promise<Outcome> {
  return simulate(of, { seed, messages: MESSAGES, processes: 4 }, listener);
}

describe('a simulation', () => {
  it('is the same each time, alone and after others', async () => {
    const first = await play(7);
    await play(8);
    const again = await play(7);
    const alone = await play(7, evaluate(code));
    expect([again.hash, alone.hash]).toEqual([first.hash, first.hash]);
    expect((await play(8)).hash).not.toBe(first.hash);
  });

  it('is planned in JSON, in which what never happens stays away', () => {
    const plan = { seed: 7, messages: 1, processes: 1, faults: { killEvery: Infinity, latency: 0.5 } };
    expect(savedPlan(JSON.stringify(plan))).toEqual(plan);
  });

  it('has stacks that do not tell where it lies', async () => {
    const stacks = new Set<string | undefined>();
    await play(7, copy, () => stacks.add(new Error('told').stack));
    expect(stacks).not.toContain(undefined);
    expect([...stacks].filter((stack) => stack?.includes(process.cwd()))).toEqual([]);
  });

  it('reads neither the clock nor the chance of the machine', async () => {
    const read = vi.fn<(what: string) => void>();
    const reads = (name: string, object: object, member: string): void => {
      const real = Reflect.get(object, member) as (...args: unknown[]) => unknown;
      vi.spyOn(object as Record<string, () => unknown>, member).mockImplementation((...args: unknown[]) => {
        // Others do, too, in the same process, and this file is among their callers by now.
        if (callers().some((file) => /product\.cjs|test\/simulation\/(?!repeats)/.test(file))) read(name);
        return real.apply(object, args);
      });
    };
    reads('Math.random', Math, 'random');
    reads('Date.now', Date, 'now');
    reads('performance.now', performance, 'now');
    reads('setTimeout', globalThis, 'setTimeout');
    reads('getRandomValues', crypto, 'getRandomValues');
    reads('randomUUID', crypto, 'randomUUID');
    const RealDate = Date;
    vi.stubGlobal(
      'Date',
      new Proxy(RealDate, {
        construct: (target, args: [], type: new () => object) => {
          if (args.length === 0) read('new Date()');
          return Reflect.construct(target, args, type) as object;
        },
      }),
    );
    await play(9);
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
    expect(read.mock.calls).toEqual([]);
  });
});
