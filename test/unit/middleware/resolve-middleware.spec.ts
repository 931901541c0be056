import { describe, expect, it } from 'vitest';
import type { DelayQueueMiddleware } from '../../../lib/middleware/middleware.interface.js';
import { resolveMiddleware } from '../../../lib/middleware/middleware-layers.js';

function names(layers: readonly { readonly name: string }[] = []): string[] {
  return layers.map(({ name }) => name);
}

describe('resolveMiddleware', () => {
  it('takes middleware with any of its functions; from objects, and from instances with what else they have', () => {
    class Both {
      readonly calls = 0;
      #next = async <T>(next: () => Promise<T>): Promise<T> => next();

      async publish<T>(_messages: unknown, next: () => Promise<T>): Promise<T> {
        return this.#next(next);
      }

      async handle<T>(_messages: unknown, next: () => Promise<T>): Promise<T> {
        return this.#next(next);
      }
    }

    const given: readonly DelayQueueMiddleware[] = [
      { publish: async (_, next) => next() },
      { handle: async (_, next) => next() },
      { settle: async (_, next) => next() },
      { publish: async (_, next) => next(), handle: async (_, next) => next() },
      new Both(),
    ];
    const { publish, handle, settle } = resolveMiddleware(given);
    expect(names(publish)).toEqual(['middleware[0].publish', 'middleware[3].publish', 'middleware[4].publish']);
    expect(names(handle)).toEqual(['middleware[1].handle', 'middleware[3].handle', 'middleware[4].handle']);
    expect(names(settle)).toEqual(['middleware[2].settle']);
  });

  it('has no layers if no middleware has such a function, so that nothing stands around an operation', () => {
    expect(resolveMiddleware([])).toEqual({ publish: undefined, handle: undefined, settle: undefined });
    const { publish, handle, settle } = resolveMiddleware([{ publish: async (_, next) => next() }]);
    expect([publish?.length, handle, settle]).toEqual([1, undefined, undefined]);
  });

  it('does not follow what becomes of the list later', () => {
    const given: DelayQueueMiddleware[] = [{ handle: async (_, next) => next() }];
    const { handle } = resolveMiddleware(given);
    given.push({ handle: async (_, next) => next() });
    expect(handle).toHaveLength(1);
    expect(Object.isFrozen(handle)).toBe(true);
  });
});
