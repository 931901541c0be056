import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Json } from './json.js';
import { watch } from './watch.js';

/** What the server has refused, or could not be asked. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Counts what was changed here, so that what is shown is looked at again at once. */
const changes = signal(0);

/** To be called when something was changed. */
export function lookAgain(): void {
  changes.value++;
}

/** The path of a look, with its parameters; those that are not given are left out. */
export function pathOf(route: string, query: Readonly<Record<string, string | number | undefined>> = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? route : `${route}?${new URLSearchParams(given).toString()}`;
}

/** @throws ApiError */
export async function look<T>(path: string): Promise<Json<T>> {
  return answerOf(fetch(path, { headers: { accept: 'application/json' } }));
}

/**
 * Changes something.
 *
 * @throws ApiError
 */
export async function act<T>(route: string, body: object): Promise<Json<T>> {
  const headers = { 'content-type': 'application/json', 'x-delay-queue-dashboard': '1' };
  const answer = await answerOf<T>(fetch(route, { method: 'POST', headers, body: JSON.stringify(body) }));
  lookAgain();
  return answer;
}

async function answerOf<T>(sent: Promise<Response>): Promise<Json<T>> {
  let response: Response;
  try {
    response = await sent;
  } catch {
    throw new ApiError('UNREACHABLE', '');
  }
  const answer = (await response.json().catch(() => ({}))) as { error?: { code: string; message: string } };
  if (response.ok) return answer as Json<T>;
  throw new ApiError(answer.error?.code ?? String(response.status), answer.error?.message ?? response.statusText);
}

export interface Look<T> {
  readonly data: Json<T> | undefined;
  readonly error: ApiError | undefined;
}

/** Shows what a look answers, and again whenever it has changed. Looks at nothing while the page is hidden. */
export function useLook<T>(path: string): Look<T> {
  const [state, setState] = useState<Look<T> & { path: string }>({ path, data: undefined, error: undefined });
  const changed = changes.value;
  const seen = useRef(changed);
  useEffect(() => {
    if (seen.current === changed) return;
    seen.current = changed;
    look<T>(path).then(
      // Another path may be shown by now, and its stream tells nothing twice.
      (data) => setState((old) => (old.path === path ? { path, data, error: undefined } : old)),
      (error: ApiError) => setState((old) => (old.path === path ? { ...old, error } : old)),
    );
  }, [changed]);
  useEffect(
    () =>
      watch({
        path,
        told: (answer) => setState({ path, data: answer as Json<T>, error: undefined }),
        failed: ({ code, message }) =>
          setState((old) => ({
            path,
            data: old.path === path ? old.data : undefined,
            error: new ApiError(code, message),
          })),
      }),
    [path],
  );
  // What was shown of another path is not the answer.
  return state.path === path ? state : { data: undefined, error: undefined };
}
