import { expect, it, vi } from 'vitest';
import { documentRoute } from '../../../lib/gateway/own.routes.js';
import type { Call } from '../../../lib/gateway/route.js';

it('makes the document once, wherever it is asked for', async () => {
  const toJSON = vi.fn<() => object>(() => ({ openapi: '3.1.0' }));
  const route = documentRoute(() => ({ toJSON }));
  const places = ['', '/a', '/A"'].map(
    async (base) => (await route.run({ base } as Call<unknown, unknown, unknown>)).text ?? '',
  );
  const documents = (await Promise.all(places)).map((text) => JSON.parse(text) as unknown);
  expect(documents).toEqual(['/', '/a', '/A"'].map((url) => ({ servers: [{ url }], openapi: '3.1.0' })));
  expect(toJSON).toHaveBeenCalledOnce();
});
