import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { TOKEN } from '../../support/gateway/gateway.js';
import { type StandaloneGateway, startStandaloneGateway } from '../../support/gateway/standalone-gateway.js';
import { until } from '../../support/waiting.js';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';

/** Longest time until a gateway has ended, in milliseconds: requests that are being answered may take 5 s. */
const ENDS_WITHIN = 8000;

/** Until a head has to be there, in milliseconds, and what comes on top of it: it is looked at every second. */
const HEAD_WITHIN = 10_000;
const LATE = 3000;

const WAITING = 500;
const MESSAGES = 2000;

let redis: PrivateRedis;
const gateways: StandaloneGateway[] = [];

beforeAll(async () => {
  redis = await startRedis();
}, 60_000);

afterEach(async () => {
  await Promise.all(gateways.splice(0).map(async (gateway) => gateway.close()));
});

afterAll(async () => redis?.stop());

async function open(): Promise<StandaloneGateway> {
  const gateway = await startStandaloneGateway({ redisUrl: redis.url, topics: ['jobs'] });
  gateways.push(gateway);
  return gateway;
}

async function post({ url }: StandaloneGateway, path: string, body: object, key?: string): Promise<Response> {
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    'content-type': 'application/json',
    ...(key !== undefined && { 'idempotency-key': key }),
  };
  return fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

it('a request with an Idempotency-Key is done once, whichever process it reaches, also one that was started since', async () => {
  const first = await open();
  const publish = async (gateway: StandaloneGateway): Promise<unknown> =>
    (await post(gateway, '/v1/topics/jobs/messages', { payload: 1 }, 'order 42')).json();
  const published = await publish(first);
  const received = (await (await post(first, '/v1/topics/jobs/receive', { wait: '10s' })).json()) as {
    messages: { id: string; receipt: string }[];
  };
  expect(received.messages).toMatchObject([{ id: (published as { id: string }).id }]);
  const settlement = { receipt: received.messages[0]?.receipt, outcome: 'ack' };
  const settled: unknown = await (await post(first, '/v1/settle', settlement, 'ack 42')).json();
  expect(settled).toMatchObject({ status: 'settled' });

  first.program.signal('SIGKILL');
  const second = await open();
  expect(await publish(second)).toEqual(published);
  expect(await (await post(second, '/v1/settle', settlement, 'ack 42')).json()).toEqual(settled);
  expect(await (await post(second, '/v1/topics/jobs/receive', { wait: 0 })).json()).toEqual({ messages: [] });
});

it.each(['SIGTERM', 'SIGINT'] as const)(
  'with %s it answers whoever waits, and ends without an error',
  async (signal) => {
    const gateway = await open();
    const waiting = post(gateway, '/v1/topics/jobs/receive', { wait: '60s' });
    await post(gateway, '/v1/topics/jobs/receive', { wait: 0 });
    const beganAt = performance.now();
    gateway.program.signal(signal);
    const answer = await waiting;
    expect([answer.status, answer.headers.get('connection'), await answer.json()]).toEqual([
      200,
      'close',
      { messages: [] },
    ]);
    await gateway.program.exit();
    expect(gateway.program.ending, gateway.program.output).toBe(0);
    expect(performance.now() - beganAt).toBeLessThan(ENDS_WITHIN);
  },
);

/** Receives and settles at a gateway, and at the other one once that is gone, until `settled` has all messages. */
async function work(first: StandaloneGateway, other: StandaloneGateway, settled: Set<string>): Promise<void> {
  let gateway = first;
  while (settled.size < MESSAGES) {
    try {
      const answer = await post(gateway, '/v1/topics/jobs/receive', { wait: '2s', lease: '2s' });
      const { messages } = (await answer.json()) as { messages: { id: string; receipt: string }[] };
      for (const { id, receipt } of messages) {
        const result = await post(other, '/v1/settle', { receipt, outcome: 'ack' });
        const { status } = (await result.json()) as { status: string };
        if (status === 'settled') settled.add(id);
      }
    } catch {
      gateway = other;
    }
  }
}

it('loses nothing if it is killed while 500 wait at it, and an idle second one keeps nobody waiting', async () => {
  const [killed, other] = [await open(), await open()];
  const settled = new Set<string>();
  const ids = Array.from({ length: MESSAGES }, (_, i) => `m${i}`);
  const working = Promise.all(Array.from({ length: WAITING }, async () => work(killed, other, settled)));
  // It takes its share of the partitions for that, and lets go of them since nobody asks again.
  const idle = post(other, '/v1/topics/jobs/receive', { wait: 0 });
  expect(await (await idle).json()).toEqual({ messages: [] });
  for (let first = 0; first < MESSAGES; first += 100) {
    const messages = ids.slice(first, first + 100).map((id) => ({ id, payload: id }));
    expect((await post(other, '/v1/topics/jobs/messages', { messages })).status).toBe(201);
    if (first === MESSAGES / 2) {
      await until('half of them to be settled', () => (settled.size >= MESSAGES / 2 - WAITING / 2 ? true : undefined));
      killed.program.signal('SIGKILL');
    }
  }
  await working;
  expect([...settled].toSorted()).toEqual(ids.toSorted());
  const stats = await fetch(`${other.url}/v1/topics/jobs/stats`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  expect(await stats.json()).toMatchObject({ scheduled: 0, inFlight: 0, dead: 0 });
});

it('closes a connection on which a request does not come', { timeout: 30_000 }, async () => {
  const { url } = await open();
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const beganAt = performance.now();
  socket.write('POST /v1/settle HTTP/1.1\r\nhost: here\r\n');
  expect(await text(socket)).toContain('408 Request Timeout');
  const took = performance.now() - beganAt;
  expect(took).toBeGreaterThan(HEAD_WITHIN - LATE);
  expect(took).toBeLessThan(HEAD_WITHIN + LATE);
});
