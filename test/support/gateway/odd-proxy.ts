import type { ServerResponse } from 'node:http';
import type { Gateway } from './gateway.js';
import { passOn, startHttpProxy } from './http-proxy.js';

/** Levels of a payload that no client reads as it reads others. */
const DEEP = 20_000;

/** What is done to the answer of the gateway, the `n`th of the same caller; `undefined`: the gateway is not asked. */
type Odd = (n: number) => ((body: string) => Told) | { readonly instead: Told } | undefined;

interface Told {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What does not come from the gateway, in the form of Nest: it has no `code`. */
function ofAnother(status: number, headers: Readonly<Record<string, string>> = {}): { readonly instead: Told } {
  return { instead: { status, headers, body: JSON.stringify({ message: 'Not by the gateway', statusCode: status }) } };
}

const NOT_NOW = { status: 503, code: 'BROKER_UNAVAILABLE', detail: 'Redis did not answer.' };

/** By the first part of the path. */
const ODDITIES: Readonly<Record<string, Odd>> = {
  '401': () => ofAnother(401),
  '403': () => ofAnother(403),
  '400-twice': (n) => (n <= 2 ? ofAnother(400) : undefined),
  '503-once': (n) => (n === 1 ? ofAnother(503, { 'retry-after': '2' }) : undefined),
  // All are published, but of the last one this is not known.
  '207-once': (n) => (n === 1 ? withoutTheLast : undefined),
  deep: () => (body) => ({
    body: body.replace('"payload":"deep"', `"payload":${'['.repeat(DEEP)}${']'.repeat(DEEP)}`),
  }),
};

function withoutTheLast(body: string): Told {
  const { messages } = JSON.parse(body) as { messages: unknown[] };
  return { status: 207, body: JSON.stringify({ messages: [...messages.slice(0, -1), { error: NOT_NOW }] }) };
}

/**
 * Starts proxies before a gateway that do what stands in the first part of the path; the second part is the name of whoever asks, by which
 * requests are counted: `/503-once/php.32/v1/receive`.
 */
export async function startOddProxy(url: string): Promise<Gateway> {
  const target = new URL(url);
  const asked = new Map<string, number>();
  return startHttpProxy((request, response) => {
    const [, what = '', name = '', path = ''] = /^\/([^/]*)\/([^/]*)(\/.*)$/.exec(request.url ?? '') ?? [];
    const caller = `${what} ${name}`;
    const n = (asked.get(caller) ?? 0) + 1;
    asked.set(caller, n);
    const odd = ODDITIES[what]?.(n);
    if (odd && 'instead' in odd) {
      request.resume();
      tell(response, odd.instead);
      return;
    }
    const change = odd ?? ((body: string): Told => ({ body }));
    passOn(request, response, { target, path: `${target.pathname.replace(/\/$/, '')}${path}` }, async (answer) => {
      const status = answer.statusCode ?? 502;
      try {
        tell(response, { status, ...change(Buffer.concat(await answer.toArray()).toString()) });
      } catch {
        response.destroy();
      }
    });
  });
}

function tell(response: ServerResponse, { status = 200, headers, body }: Told): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}
