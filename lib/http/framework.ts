import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ServedRequest } from './respond.js';

/** A request of Express or Fastify: what they give besides what Node.js does. */
export interface FrameworkRequest {
  readonly raw?: IncomingMessage;
  readonly originalUrl: string;
  /** Of Express and of Fastify: the path that it was registered for. */
  readonly route?: { readonly path: string };
  readonly routeOptions?: { readonly url?: string };
  /** That whoever asks knows, with its port, by the proxies that the application trusts. */
  readonly host?: string;
  /** What a body parser has made of the body. */
  readonly body?: unknown;
  /** Its bytes, if the application was created with `rawBody`. */
  readonly rawBody?: Uint8Array;
}

export interface FrameworkResponse {
  readonly raw?: ServerResponse;
  readonly hijack?: () => void;
  getHeaders?(): OutgoingHttpHeaders;
}

/**
 * A request of Express or Fastify, as far as `access` goes by it. What your guards add to it, such as `user`, is there too.
 *
 * @publicApi
 */
export interface HttpRequest {
  readonly headers: IncomingMessage['headers'];
  readonly method: string;
  readonly url: string;
  readonly [added: string]: unknown;
}

/**
 * The same as Node.js has it, taken out of the hands of the framework.
 *
 * @param paths that are served; the framework has found one of them
 */
export function servedRequest(
  asked: FrameworkRequest,
  answered: FrameworkResponse,
  paths: readonly string[],
): Required<ServedRequest> {
  return {
    request: asked.raw ?? (asked as unknown as IncomingMessage),
    response: answered.raw ?? (answered as unknown as ServerResponse),
    host: asked.host,
    begin: () => {
      // Those that hooks have set; Fastify has them aside until it writes the answer itself.
      for (const [name, value] of Object.entries(answered.raw ? (answered.getHeaders?.() ?? {}) : {})) {
        if (value !== undefined) answered.raw?.setHeader(name, value);
      }
      answered.hijack?.();
    },
    ...placeOf(asked, paths),
    // Of one that `leaveBodies()` could not keep from a parser: the bytes, if they are there.
    body: asked.rawBody ?? asked.body,
  };
}

/** The path and the query that a request was sent to, both as they were sent; its line may have the whole URL (RFC 9112, 3.2.2). */
export function splitUrl(url: string): { path: string; search: string } {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
  const end = target.indexOf('?');
  return end < 0 ? { path: target, search: '' } : { path: target.slice(0, end), search: target.slice(end + 1) };
}

/**
 * Takes apart where a request was sent to.
 *
 * @param paths that are served; a framework has found one of them, which may be below a prefix
 */
function placeOf(
  { originalUrl, route, routeOptions }: FrameworkRequest,
  paths: readonly string[],
): Pick<Required<ServedRequest>, 'base' | 'path' | 'search'> {
  const { path: whole, search } = splitUrl(originalUrl);
  const registered = routeOptions?.url ?? route?.path ?? '';
  const parts = (paths.find((path) => registered.endsWith(path)) ?? '').split('/').slice(1);
  const sent = whole.replace(/\/$/, '').split('/');
  const own = sent.splice(sent.length - parts.length);
  // Named parts are as they were sent: what a framework has decoded may have slashes. The others may be in another case.
  const path = parts.map((part, i) => `/${part.startsWith(':') ? own[i] : part}`).join('');
  return { base: sent.join('/'), path, search };
}
