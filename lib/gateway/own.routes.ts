import { type Route, noTopic, route } from './route.js';

/**
 * Where the gateway describes itself.
 *
 * @param document without where its paths are
 */
export function documentRoute(document: () => object): Route {
  // Nobody needs a right for it, so that it must not cost more when more ask, wherever they say that it is.
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

/** Whether the standalone gateway can serve: for whoever sends requests to it. */
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
