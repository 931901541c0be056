import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';

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
  readonly params: Readonly<Record<string, string | undefined>>;
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

/** The same as Node.js has it, and what takes the answer out of the hands of the framework. */
export interface RawExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly host: string | undefined;
  /** To be called right before it answers. */
  readonly begin: () => void;
}

export function rawExchange(request: FrameworkRequest, response: FrameworkResponse): RawExchange {
  return {
    request: request.raw ?? (request as unknown as IncomingMessage),
    response: response.raw ?? (response as unknown as ServerResponse),
    host: request.host,
    begin: () => {
      // Those that hooks have set; Fastify has them aside until it writes the answer itself.
      for (const [name, value] of Object.entries(response.raw ? (response.getHeaders?.() ?? {}) : {})) {
        if (value !== undefined) response.raw?.setHeader(name, value);
      }
      response.hijack?.();
    },
  };
}

/** What a parser of the application has made of a body that `leaveBodies()` could not keep from it: the bytes, if they are there. */
export function givenBody({ rawBody, body }: FrameworkRequest): unknown {
  return rawBody ?? body;
}

/** The path and the query that a request was sent to, both as they were sent; its line may have the whole URL (RFC 9112, 3.2.2). */
export function splitUrl(url: string): { path: string; search: string } {
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
  const end = target.indexOf('?');
  return end < 0 ? { path: target, search: '' } : { path: target.slice(0, end), search: target.slice(end + 1) };
}

/** Where a request was sent to, taken apart: what is served is below a base. */
export interface Place {
  readonly base: string;
  readonly path: string;
  /** Without the question mark. */
  readonly search: string;
}

/**
 * Takes apart where a request was sent to.
 *
 * @param paths that are served; a framework has found one of them, which may be below a prefix
 */
export function placeOf({ originalUrl, route, routeOptions }: FrameworkRequest, paths: readonly string[]): Place {
  const { path: whole, search } = splitUrl(originalUrl);
  const registered = routeOptions?.url ?? route?.path ?? '';
  const parts = (paths.find((path) => registered.endsWith(path)) ?? '').split('/').slice(1);
  const sent = whole.replace(/\/$/, '').split('/');
  const own = sent.splice(-parts.length);
  // Named parts are as they were sent: what a framework has decoded may have slashes. The others may be in another case.
  const path = parts.map((part, i) => `/${part.startsWith(':') ? own[i] : part}`).join('');
  return { base: sent.join('/'), path, search };
}

/** Paths of one part and of more, with names for the parts; Express and Fastify do not write a wildcard alike. */
export function pathsBelow(place: string, most: number): string[] {
  const parts = Array.from({ length: most }, (_, i) => `:p${i + 1}`);
  return parts.map((_, i) => [place, ...parts.slice(0, i + 1)].filter((part) => part !== '').join('/'));
}

/** The parts of a path that {@link pathsBelow} has named, decoded. */
export function partsBelow({ params }: FrameworkRequest): string[] {
  const parts: string[] = [];
  for (let part = params['p1']; part !== undefined; part = params[`p${parts.length + 1}`]) parts.push(part);
  return parts;
}
