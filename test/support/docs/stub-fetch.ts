import { type Mock, vi } from 'vitest';

/** A request, as `fetch` is called in the documents. */
export type FetchCall = (url: string, init: RequestInit) => Promise<Response>;

/** Puts another `fetch` in the place of the global one, for the rest of the test. */
export function stubFetch(answer: (url: string, init: RequestInit) => Response | Promise<Response>): Mock<FetchCall> {
  const stub = vi.fn<FetchCall>(async (url, init) => answer(url, init));
  vi.stubGlobal('fetch', stub);
  return stub;
}

/** An answer with this status. */
export function status(code: number): Response {
  return new Response(null, { status: code });
}

/** As a server that never answers: the request ends when it is aborted, as `fetch` does it. */
export async function noAnswer({ signal }: RequestInit): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
