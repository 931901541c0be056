import { describe, expect, it } from 'vitest';
import { type Layer, runWithin } from '../../../lib/middleware/middleware-layers.js';
import { ConfigurationError } from '../../../lib/errors/options.errors.js';

type TextLayer = Layer<string, string>;

/** A layer that records when it is entered and left. */
function noting(name: string, steps: string[]): TextLayer {
  return {
    name,
    call: async (input, next) => {
      steps.push(`${name} in: ${input}`);
      const result = await next();
      steps.push(`${name} out: ${result}`);
      return `${result}+${name}`;
    },
  };
}

async function twoAttempts(next: () => Promise<string>): Promise<string> {
  try {
    return await next();
  } catch {
    return next();
  }
}

describe('runWithin', () => {
  it('runs the operation if there is no layer', async () => {
    expect(await runWithin([], 'x', async () => 'done')).toBe('done');
  });

  it('enters the first layer first and leaves it last; each has the input, and the result of those inside', async () => {
    const steps: string[] = [];
    const result = await runWithin([noting('a', steps), noting('b', steps)], 'x', async () => {
      steps.push('operation');
      return 'done';
    });

    expect(result).toBe('done+b+a');
    expect(steps).toEqual(['a in: x', 'b in: x', 'operation', 'b out: done', 'a out: done+b']);
  });

  it('does not run what is inside a layer that does not call next', async () => {
    const steps: string[] = [];
    const stopping: TextLayer = { name: 'stopping', call: async () => 'stopped' };
    const result = await runWithin([noting('a', steps), stopping, noting('b', steps)], 'x', async () => expect.fail());

    expect(result).toBe('stopped+a');
    expect(steps).toEqual(['a in: x', 'a out: stopped']);
  });

  it('rejects with what a layer throws, even if it is not an async function', async () => {
    const error = new Error('boom');
    const throwing: TextLayer = {
      name: 'throwing',
      call: () => {
        throw error;
      },
    };
    await expect(runWithin([throwing], 'x', async () => expect.fail())).rejects.toBe(error);
  });

  it('passes what the operation throws to the layers, which may catch it', async () => {
    const error = new Error('boom');
    const catching: TextLayer = {
      name: 'catching',
      call: async (_input, next) => next().catch((caught: unknown) => `caught ${caught === error}`),
    };
    const operation = async (): Promise<string> => {
      throw error;
    };

    expect(await runWithin([catching], 'x', operation)).toBe('caught true');
    await expect(runWithin([noting('a', [])], 'x', operation)).rejects.toBe(error);
  });

  it.each<{ when: string; fails: boolean; again: (next: () => Promise<string>) => Promise<string> }>([
    { when: 'one after the other', fails: false, again: async (next) => (await next()) + (await next()) },
    { when: 'at once', fails: false, again: async (next) => (await Promise.all([next(), next()])).join() },
    { when: 'as a repeat', fails: true, again: twoAttempts },
  ])('refuses a second call of next, $when, and says who made it', async ({ fails, again }) => {
    let runs = 0;
    const twice: TextLayer = { name: 'middleware[1].publish', call: async (_, next) => again(next) };
    const run = runWithin([noting('a', []), twice], 'x', async () => {
      runs++;
      if (fails) throw new Error('boom');
      return 'done';
    });

    await expect(run).rejects.toThrow(ConfigurationError);
    await expect(run).rejects.toThrow(/^middleware\[1\]\.publish called next\(\) a second time/);
    expect(runs).toBe(1);
  });

  it('keeps apart runs through the same layers at the same time', async () => {
    const layers = [noting('a', [])];
    const results = await Promise.all(['x', 'y', 'z'].map((input) => runWithin(layers, input, async () => input)));

    expect(results).toEqual(['x+a', 'y+a', 'z+a']);
  });
});
