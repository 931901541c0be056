import { type Route, noTopic, route } from './route.js';

/**
 * Returns the route at which the gateway describes itself.
 *
 * @param document document without the place of its paths
 */
export function documentRoute(document: () => object): Route {
  // It needs no right, so more requests must not cost more, whatever base they name.
  let rest: string | undefined;
  return route({
    method: 'GET',
    path: '/openapi.json',
    name: 'getDocument',
    summary: 'This document',
    right: undefined,
    answers: { 200: { description: 'OpenAPI 3.1.', of: ['Document'] } },
    problems: [],
    sees: noTopic,
    run: async ({ base }) => {
      rest ??= JSON.stringify(document()).slice(1);
      const servers = JSON.stringify([{ url: base === '' ? '/' : base }]);
      return { status: 200, content: undefined, text: `{"servers":${servers},${rest}` };
    },
  });
}

/** Returns the route that says whether the standalone gateway can serve, for those that send requests to it. */
export function healthRoute(isUp: () => Promise<boolean>): Route {
  return route({
    method: 'GET',
    path: '/health',
    name: 'getHealth',
    summary: 'Whether requests can be served now',
    right: undefined,
    answers: {
      200: { description: 'Redis answers.', of: ['Health'] },
      503: { description: 'Redis does not answer, or the gateway is shutting down.', of: ['Health'] },
    },
    problems: [],
    sees: noTopic,
    run: async () =>
      (await isUp()) ? { status: 200, content: { status: 'up' } } : { status: 503, content: { status: 'down' } },
  });
}
