import { expect, it, vi } from 'vitest';
import { documentRoute } from '../../../lib/gateway/own.routes.js';
import type { Call } from '../../../lib/gateway/route.js';

it('makes the document once for the place where it is mounted', async () => {
  const make = vi.fn<(base: string) => object>((base) => ({ base }));
  const route = documentRoute(make);
  const contents = [];
  for (const base of ['/a', '/a', '/b']) contents.push((await route.run({ base } as Call<unknown, unknown>)).content);
  expect(contents).toEqual([{ base: '/a' }, { base: '/a' }, { base: '/b' }]);
  expect(make).toHaveBeenCalledTimes(2);
});
