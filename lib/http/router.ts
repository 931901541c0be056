import { type RouterContext, addRoute, createRouter, findRoute } from 'rou3';
import { Refusal } from './refusal.js';

/** Method and path of a route. */
export interface Placed {
  readonly method: string;
  /** Path with a leading slash, and names of its parameters in braces, such as `{topic}`. */
  readonly path: string;
}

/** A route, and the values of its parameters in the path. */
export interface FoundRoute<R> {
  readonly route: R;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Finds routes by the paths of requests. */
export class Router<R extends Placed> {
  readonly #routes: RouterContext<R> = createRouter();
  readonly #methods: readonly string[];

  constructor(routes: readonly R[]) {
    for (const route of routes) addRoute(this.#routes, route.method, route.path.replaceAll(/\{(\w+)\}/g, ':$1'), route);
    this.#methods = [...new Set(routes.map(({ method }) => method))];
  }

  /**
   * @param path as it was sent, without the query
   * @returns `undefined` if there is no such route
   * @throws Refusal if it has no such method, or a part of the path cannot be decoded
   */
  find(method: string, path: string): FoundRoute<R> | undefined {
    // Everything that answers GET answers HEAD as well.
    const found = findRoute(this.#routes, method === 'HEAD' ? 'GET' : method, path);
    if (found) return { route: found.data, parameters: decoded(found.params) };
    const allowed = this.#methods.filter((one) => findRoute(this.#routes, one, path)).join(', ');
    if (allowed !== '') throw notAllowed(allowed);
    return undefined;
  }
}

export function notAllowed(allowed: string): Refusal {
  return new Refusal(405, 'METHOD_NOT_ALLOWED', `This route takes ${allowed}.`, { allow: allowed });
}

function decoded(parameters: Readonly<Record<string, string>> = {}): Record<string, string> {
  const texts: Record<string, string> = {};
  try {
    for (const [name, part] of Object.entries(parameters)) texts[name] = decodeURIComponent(part);
    return texts;
  } catch {
    throw new Refusal(
      400,
      'INVALID_ARGUMENT',
      'The path is not percent-encoded UTF-8. Encode each part of it by itself.',
    );
  }
}
