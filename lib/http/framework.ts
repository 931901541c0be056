import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ServedRequest } from './respond.js';

/** A request of Express or Fastify: the properties that they add to those of Node.js. */
export interface FrameworkRequest {
  readonly raw?: IncomingMessage;
  readonly originalUrl: string;
  /** In Express and in Fastify: the registered path of its route. */
  readonly route?: { readonly path: string };
  readonly routeOptions?: { readonly url?: string };
  /** Host that the client asked, with its port, according to the proxies that the application trusts. */
  readonly host?: string;
  /** Body as a body parser returned it. */
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
 * A request of Express or Fastify, with the parts that `access` relies on. Anything that your guards add to it, such as `user`, is there too.
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
 * Returns the request as Node.js has it, and takes it over from the framework.
 *
 * @param paths served paths; the framework has matched one of them
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
      // Headers that hooks have set; Fastify keeps them aside until it writes the answer itself.
      for (const [name, value] of Object.entries(answered.raw ? (answered.getHeaders?.() ?? {}) : {})) {
        if (value !== undefined) answered.raw?.setHeader(name, value);
      }
      answered.hijack?.();
    },
    ...placeOf(asked, paths),
    // If `leaveBodies()` could not keep the body from a parser: its bytes, if they are there.
    body: asked.rawBody ?? asked.body,
  };
}

/** Splits the target of a request into path and query, both as sent; the request line can have the whole URL (RFC 9112, 3.2.2). */
export function splitUrl(url: string): { path: string; search: string } {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
  const end = target.indexOf('?');
  return end < 0 ? { path: target, search: '' } : { path: target.slice(0, end), search: target.slice(end + 1) };
}

/**
 * Splits the target of a request.
 *
 * @param paths served paths; a framework has matched one of them, which can be below a prefix
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
