import type { ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { Gateway } from './gateway.js';
import { passOn, startHttpProxy } from './http-proxy.js';

/** Levels of a payload that no client reads as it reads others. */
const DEEP = 20_000;

/** What is done to an answer of the gateway. */
type Change = (body: string) => Told | Promise<Told>;

/**
 * What is done to an answer; `instead`: the gateway is not asked.
 *
 * @param count counts the request, and tells how many of the same caller were counted
 */
type Odd = (count: () => number, path: string) => Change | { readonly instead: Told } | undefined;

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
  '400-twice': (count) => (count() <= 2 ? ofAnother(400) : undefined),
  '503-once': (count) => (count() === 1 ? ofAnother(503, { 'retry-after': '2' }) : undefined),
  // All are published, but of the last one this is not known.
  '207-once': (count) => (count() === 1 ? withoutTheLast : undefined),
  deep: () => (body) => ({
    body: body.replace('"payload":"deep"', `"payload":${'['.repeat(DEEP)}${']'.repeat(DEEP)}`),
  }),
  '19-settles': (count, path) => {
    if (!path.endsWith('/settle')) return undefined;
    return count() <= 19 ? late : ofAnother(400);
  },
  'failed-schedules': () => withFailedSchedules,
  more: () => (body) => ({ body: JSON.stringify(withMore(JSON.parse(body))) }),
};

/** In this time others end. */
async function late(body: string): Promise<Told> {
  await setTimeout(200);
  return { body };
}

function withFailedSchedules(body: string): Told {
  const failed = [{ topic: 'away', ids: ['nightly'], error: NOT_NOW }];
  return { body: JSON.stringify({ ...(JSON.parse(body) as object), failed }) };
}

/** With what a newer gateway may tell besides, but for what belongs to the application. */
function withMore(value: unknown, name = ''): unknown {
  if (typeof value !== 'object' || value === null || ['payload', 'headers'].includes(name)) return value;
  if (Array.isArray(value)) return value.map((one) => withMore(one));
  const known = Object.entries(value).map(([key, inner]) => [key, withMore(inner, key)]);
  return { ...Object.fromEntries(known), addedLater: { at: 1 } };
}

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
    const count = (): number => {
      const caller = `${what} ${name}`;
      const n = (asked.get(caller) ?? 0) + 1;
      asked.set(caller, n);
      return n;
    };
    const odd = ODDITIES[what]?.(count, path);
    if (odd && 'instead' in odd) {
      request.resume();
      tell(response, odd.instead);
      return;
    }
    const change: Change = odd ?? ((body) => ({ body }));
    passOn(request, response, { target, path: `${target.pathname.replace(/\/$/, '')}${path}` }, async (answer) => {
      const status = answer.statusCode ?? 502;
      try {
        tell(response, { status, ...(await change(Buffer.concat(await answer.toArray()).toString())) });
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
