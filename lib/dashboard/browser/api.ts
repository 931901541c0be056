import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiError, ask } from './asked.js';
import type { Json } from './json.js';
import { noteLook } from './redis-away.js';
import { watch } from './watch.js';

/** Number of changes made here; each one makes the page look again at once. */
const changes = signal(0);

/** Call this when something was changed. */
export function lookAgain(): void {
  changes.value++;
}

/** Returns the path of a look with its parameters; undefined ones are left out. */
export function pathOf(route: string, query: Readonly<Record<string, string | number | undefined>> = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? route : `${route}?${new URLSearchParams(given).toString()}`;
}

/** Returns a number that grows whenever something was changed here. */
export function changesSeen(): number {
  return changes.value;
}

/** @throws ApiError, also when the signal ends it */
export async function look<T>(path: string, ended?: AbortSignal): Promise<Json<T>> {
  return (await ask<T>(path, { signal: ended ?? null })).answer;
}

/**
 * Changes something.
 *
 * @throws ApiError
 */
export async function act<T>(route: string, body: object): Promise<Json<T>> {
  return actWith<T>(route, JSON.stringify(body));
}

/**
 * Does the same with a payload as the user wrote it, in JSON: parsing it here and writing it again could change a number.
 *
 * @throws ApiError
 */
export async function actOnPayload<T>(route: string, body: object, payload: string): Promise<Json<T>> {
  return actWith<T>(route, `${JSON.stringify(body).slice(0, -1)},"payload":${payload}}`);
}

async function actWith<T>(route: string, body: string): Promise<Json<T>> {
  const answer = await post<T>(route, body);
  lookAgain();
  return answer;
}

/**
 * Counts what an action would change, and changes nothing.
 *
 * @throws ApiError, also when the signal ends it
 */
export async function dryRun<T>(route: string, body: object, ended: AbortSignal): Promise<Json<T>> {
  return post(route, JSON.stringify({ ...body, dryRun: true }), ended);
}

async function post<T>(route: string, body: string, ended?: AbortSignal): Promise<Json<T>> {
  const headers = { 'content-type': 'application/json', 'x-delay-queue-dashboard': '1' };
  const init = { method: 'POST', headers, body, signal: ended ?? null };
  return (await ask<T>(route, init)).answer;
}

export interface Look<T> {
  readonly data: Json<T> | undefined;
  /** Time of the look, in epoch milliseconds by the clock of this browser. */
  readonly at: number | undefined;
  readonly error: ApiError | undefined;
}

const NOTHING = { data: undefined, at: undefined, error: undefined };

/** Shows the answer of a look, and again whenever it has changed. Looks at nothing while the page is hidden. */
export function useLook<T>(path: string): Look<T> {
  const [state, setState] = useState<Look<T> & { path: string }>({ ...NOTHING, path });
  const changed = changes.value;
  const seen = useRef(changed);
  useEffect(() => {
    if (seen.current === changed) return;
    seen.current = changed;
    ask<T>(path).then(
      // Another path may be shown by now, and its stream sends nothing twice.
      ({ answer, at }) => setState((old) => (old.path === path ? { path, data: answer, at, error: undefined } : old)),
      (error: ApiError) => setState((old) => (old.path === path ? { ...old, error } : old)),
    );
  }, [changed]);
  useEffect(() => {
    const end = watch({
      path,
      told: (answer, at) => {
        noteLook(path);
        setState({ path, data: answer as Json<T>, at, error: undefined });
      },
      failed: (error) => {
        noteLook(path, error);
        setState((old) => ({ ...(old.path === path ? old : NOTHING), path, error }));
      },
    });
    return () => {
      end();
      noteLook(path);
    };
  }, [path]);
  // The state of another path is not the answer.
  return state.path === path ? state : NOTHING;
}
