import type { Route } from './route.js';
import { ref } from './schema.js';

/**
 * Where the gateway describes itself.
 *
 * @param document is given what the paths of its routes are below
 */
export function documentRoute(document: (base: string) => object): Route {
  return {
    method: 'GET',
    path: '/openapi.json',
    name: 'getDocument',
    summary: 'This document',
    right: undefined,
    answers: { 200: { description: 'OpenAPI 3.1.', schema: { type: 'object' } } },
    problems: [],
    run: async ({ base }) => ({ status: 200, content: document(base) }),
  };
}

/** Whether the standalone gateway can serve: for whoever sends requests to it. */
export function healthRoute(isUp: () => Promise<boolean>): Route {
  const schema = ref('Health');
  return {
    method: 'GET',
    path: '/health',
    name: 'getHealth',
    summary: 'Whether requests can be served now',
    right: undefined,
    answers: {
      200: { description: 'Redis answers.', schema },
      503: { description: 'Redis does not answer, or the gateway is shutting down.', schema },
    },
    problems: [],
    run: async () =>
      (await isUp()) ? { status: 200, content: { status: 'up' } } : { status: 503, content: { status: 'down' } },
  };
}
