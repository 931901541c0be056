import { type RouterContext, addRoute, createRouter, findRoute } from 'rou3';
import { refusal } from './problem.js';
import type { Route } from './route.js';

/** A route, and what stands in the path in the place of its parameters. */
export interface FoundRoute {
  readonly route: Route;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Finds routes by the paths of requests. */
export class Router {
  readonly #routes: RouterContext<Route> = createRouter();
  readonly #methods: readonly Route['method'][];

  constructor(routes: readonly Route[]) {
    for (const route of routes) addRoute(this.#routes, route.method, route.path.replaceAll(/\{(\w+)\}/g, ':$1'), route);
    this.#methods = [...new Set(routes.map(({ method }) => method))];
  }

  /**
   * @param path as it was sent, without the query
   * @throws Refusal if there is no such route, it has no such method, or a part of the path cannot be decoded
   */
  find(method: string, path: string): FoundRoute {
    // What can be read can be asked for without its content.
    const found = findRoute(this.#routes, method === 'HEAD' ? 'GET' : method, path);
    if (found) return { route: found.data, parameters: decoded(found.params) };
    const allowed = this.#methods.filter((one) => findRoute(this.#routes, one, path)).join(', ');
    if (allowed === '') throw refusal('NOT_FOUND', 'There is no such route; GET /openapi.json has all of them.');
    throw refusal('METHOD_NOT_ALLOWED', `This route takes ${allowed}.`, { allow: allowed });
  }
}

function decoded(parameters: Readonly<Record<string, string>> = {}): Record<string, string> {
  const texts: Record<string, string> = {};
  try {
    for (const [name, part] of Object.entries(parameters)) texts[name] = decodeURIComponent(part);
    return texts;
  } catch {
    throw refusal('INVALID_ARGUMENT', 'The path is not percent-encoded UTF-8. Encode each part of it by itself.');
  }
}
