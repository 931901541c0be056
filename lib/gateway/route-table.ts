import { MESSAGE_ROUTES } from './message.routes.js';
import { refusal } from './problem.js';
import { RECEIVING_ROUTES } from './receiving.routes.js';
import type { Route } from './route.js';
import { SCHEDULE_ROUTES } from './schedule.routes.js';
import { TOPIC_ROUTES } from './topic.routes.js';

/** All that needs a right. */
export const ROUTES: readonly Route[] = [...MESSAGE_ROUTES, ...RECEIVING_ROUTES, ...TOPIC_ROUTES, ...SCHEDULE_ROUTES];

/** A route, and what stands in the path in the place of its parameters. */
export interface FoundRoute {
  readonly route: Route;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Finds routes by the paths of requests. */
export class RouteTable {
  /** By how many parts their paths have. */
  readonly #routes = new Map<number, { readonly route: Route; readonly parts: readonly string[] }[]>();

  constructor(routes: readonly Route[]) {
    for (const route of routes) {
      const parts = route.path.split('/');
      this.#routes.set(parts.length, [...(this.#routes.get(parts.length) ?? []), { route, parts }]);
    }
  }

  /**
   * @param path as it was sent, without the query
   * @throws Refusal if there is no such route, it has no such method, or a part of the path cannot be decoded
   */
  find(method: string, path: string): FoundRoute {
    const given = path.split('/');
    const fitting = this.#routes.get(given.length)?.filter(({ parts }) => fits(parts, given)) ?? [];
    if (fitting.length === 0) throw refusal('NOT_FOUND', 'There is no such route; GET /openapi.json has all of them.');
    // What can be read can be asked for without its content.
    const found = fitting.find(({ route }) => route.method === (method === 'HEAD' ? 'GET' : method));
    if (found) return { route: found.route, parameters: parametersOf(found.parts, given) };
    const allowed = [...new Set(fitting.map(({ route }) => route.method))].join(', ');
    throw refusal('METHOD_NOT_ALLOWED', `This route takes ${allowed}.`, { allow: allowed });
  }
}

function isParameter(part: string): boolean {
  return part.startsWith('{');
}

/** @param given as many as there are `parts` */
function fits(parts: readonly string[], given: readonly string[]): boolean {
  return parts.every((part, i) => (isParameter(part) ? given[i] !== '' : part === given[i]));
}

function parametersOf(parts: readonly string[], given: readonly string[]): Record<string, string> {
  const parameters: Record<string, string> = {};
  parts.forEach((part, i) => {
    if (isParameter(part)) parameters[part.slice(1, -1)] = decoded(given[i] as string);
  });
  return parameters;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw refusal('INVALID_ARGUMENT', 'The path is not percent-encoded UTF-8. Encode each part of it by itself.');
  }
}
