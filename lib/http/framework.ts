import type { IncomingMessage, ServerResponse } from 'node:http';

/** A request of Express or Fastify: what they give besides what Node.js does. */
export interface FrameworkRequest {
  readonly raw?: IncomingMessage;
  readonly originalUrl: string;
  /** What a body parser has made of the body. */
  readonly body?: unknown;
  /** Its bytes, if the application was created with `rawBody`. */
  readonly rawBody?: Uint8Array;
  readonly params: Readonly<Record<string, string | undefined>>;
}

export interface FrameworkResponse {
  readonly raw?: ServerResponse;
  readonly hijack?: () => void;
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

/** The same as Node.js has it, with a function that takes the answer out of the hands of the framework. */
export interface RawExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly hijack: () => void;
}

export function rawExchange(request: FrameworkRequest, response: FrameworkResponse): RawExchange {
  return {
    request: request.raw ?? (request as unknown as IncomingMessage),
    response: response.raw ?? (response as unknown as ServerResponse),
    hijack: () => response.hijack?.(),
  };
}

/** What a parser of the application has made of a body that `leaveBodies()` could not keep from it: the bytes, if they are there. */
export function givenBody({ rawBody, body }: FrameworkRequest): unknown {
  return rawBody ?? body;
}

/** The path and the query of a URL, both as they were sent. */
export function splitUrl(url: string): { path: string; search: string } {
  const end = url.indexOf('?');
  return end < 0 ? { path: url, search: '' } : { path: url.slice(0, end), search: url.slice(end + 1) };
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
