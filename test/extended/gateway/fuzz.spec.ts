import { Agent, request } from 'node:http';
import * as fc from 'fast-check';
import { createDelayQueueAdmin } from 'nestjs-delay-queue';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Gateway, TOKEN } from '../../support/gateway/gateway.js';
import { type Document, type RandomRequest, requestsOf } from '../../support/gateway/random-requests.js';
import { startStandaloneGateway } from '../../support/gateway/standalone-gateway.js';
import { report } from '../../support/readings/statistics.js';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';

const REQUESTS = 10_000;
const AT_ONCE = 16;
const SEED = 20;

/** Nothing but publishes goes to it, so that what it holds can be counted. */
const LEDGER = 'ledger';

let redis: PrivateRedis;
let gateway: Gateway;
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });

beforeAll(async () => {
  redis = await startRedis();
  gateway = await startStandaloneGateway({ redisUrl: redis.url, topics: ['a', 'b', LEDGER] });
}, 60_000);

afterAll(async () => {
  agent.destroy();
  await gateway?.close();
  await redis?.stop();
});

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

async function send({ method, path, headers, body }: RandomRequest): Promise<Answer> {
  const { hostname, port } = new URL(gateway.url);
  // Node.js says it of itself only for methods that have a body as a rule.
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const all = { ...headers, ...length, authorization: `Bearer ${TOKEN}` };
  return new Promise((resolve, reject) => {
    const sent = request({ agent, hostname, port, method, path, headers: all }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          type: response.headers['content-type'] ?? '',
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

/** A document that knows nothing of one option of messages. */
function without(document: Document, option: string): Document {
  const { schemas } = document.components;
  const properties = Object.fromEntries(
    Object.entries(schemas['NewMessage']?.properties ?? {}).filter(([name]) => name !== option),
  );
  return { ...document, components: { schemas: { ...schemas, NewMessage: { ...schemas['NewMessage'], properties } } } };
}

/** What a problem says of its status; `undefined`: it is none. */
function statusIn({ body }: Answer): unknown {
  try {
    return (JSON.parse(body) as { status?: unknown }).status;
  } catch {
    return undefined;
  }
}

/** Ids of what a publish has stored anew, by its answer. */
function storedIn({ status, body }: Answer): readonly string[] {
  if (status !== 201 && status !== 207) return [];
  const answer = JSON.parse(body) as {
    messages?: { id?: string; duplicate?: boolean }[];
    id?: string;
    duplicate?: boolean;
  };
  return (answer.messages ?? [answer]).flatMap(({ id, duplicate }) =>
    id !== undefined && duplicate === false ? [id] : [],
  );
}

it(
  `${REQUESTS.toLocaleString('en')} requests of every kind, also such as make no sense, are answered, and nothing is half done`,
  { timeout: 300_000 },
  async () => {
    // There are no replicas that could confirm a publish, so that asking for some is refused rightly, with 503.
    const document = without((await (await fetch(`${gateway.url}/openapi.json`)).json()) as Document, 'replicas');
    // An id is unique in its topic if messages have no keys.
    const onLedger = {
      ...without(document, 'key'),
      paths: { '/v1/topics/{topic}/messages': { post: document.paths['/v1/topics/{topic}/messages']?.['post'] ?? {} } },
    };
    const requests = [
      ...fc.sample(requestsOf(document, ['a', 'b']), { numRuns: REQUESTS * 0.8, seed: SEED }),
      ...fc.sample(requestsOf(onLedger, [LEDGER]), { numRuns: REQUESTS * 0.2, seed: SEED }),
    ];
    const statuses = new Map<number, number>();
    const stored = new Set<string>();
    const wrong: unknown[] = [];
    const queue = requests.values();
    const work = async (): Promise<void> => {
      for (const one of queue) {
        const answer = await send(one);
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        if (one.path.startsWith(`/v1/topics/${LEDGER}/messages`)) for (const id of storedIn(answer)) stored.add(id);
        const isProblem = answer.status >= 400;
        const expected = isProblem ? 'application/problem+json' : 'application/json';
        const says = isProblem ? statusIn(answer) : answer.status;
        if (answer.status >= 500 || says !== answer.status || !answer.type.startsWith(expected)) {
          wrong.push({ one, answer });
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    report(`${requests.length} random requests: ${JSON.stringify(Object.fromEntries(statuses))}`);
    expect(wrong.slice(0, 3)).toEqual([]);
    // Much of it has to have made sense.
    expect(statuses.get(200) ?? 0).toBeGreaterThan(REQUESTS / 20);
    expect(stored.size).toBeGreaterThan(REQUESTS / 100);
    expect(statuses.get(400) ?? 0).toBeGreaterThan(REQUESTS / 20);

    expect((await fetch(`${gateway.url}/health`)).status).toBe(200);
    const admin = await createDelayQueueAdmin({ redis: redis.url });
    expect((await admin.stats(LEDGER)).scheduled).toBe(stored.size);
    await admin.close();
  },
);
