import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, createServer, request as ask } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';

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
 * Proxies before a gateway that do what stands in the first part of the path; the second part is the name of whoever asks, by which requests
 * are counted: `/503-once/php.32/v1/receive`.
 */
export class OddProxy {
  readonly #server: Server;
  readonly #target: URL;
  readonly #asked = new Map<string, number>();

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  static async start(target: string): Promise<OddProxy> {
    const proxy = new OddProxy(new URL(target));
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const [, what = '', name = '', path = ''] = /^\/([^/]*)\/([^/]*)(\/.*)$/.exec(request.url ?? '') ?? [];
    const odd = ODDITIES[what]?.(() => this.#count(`${what} ${name}`), path);
    if (odd && 'instead' in odd) {
      request.resume();
      tell(response, odd.instead);
      return;
    }
    this.#pass(request, response, path, odd ?? ((body) => ({ body })));
  }

  #count(caller: string): number {
    const count = (this.#asked.get(caller) ?? 0) + 1;
    this.#asked.set(caller, count);
    return count;
  }

  #pass(request: IncomingMessage, response: ServerResponse, path: string, change: Change): void {
    const { hostname, port, pathname } = this.#target;
    const { method, headers } = request;
    const passed = ask(
      { hostname, port, method, path: `${pathname.replace(/\/$/, '')}${path}`, headers },
      async (answer) => {
        const status = answer.statusCode ?? 502;
        try {
          tell(response, { status, ...(await change(Buffer.concat(await answer.toArray()).toString())) });
        } catch {
          response.destroy();
        }
      },
    );
    passed.once('error', () => request.socket.destroy());
    response.once('close', () => passed.destroy());
    request.pipe(passed);
  }
}

function tell(response: ServerResponse, { status = 200, headers, body }: Told): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}
