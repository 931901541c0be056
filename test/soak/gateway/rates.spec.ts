import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Gateway, TOKEN } from '../../support/gateway/gateway.js';
import { type HttpConnection, rateOf } from '../../support/gateway/http-load.js';
import { startStandaloneGateway } from '../../support/gateway/standalone-gateway.js';
import { TestProcess } from '../../support/processes/test-process.js';
import { percentile, report } from '../../support/readings/statistics.js';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';

const LOAD = { connections: 50, seconds: 2 };
const ROUNDS = 3;
const SAYS = 'The bare route is at ';

/** What it has to reach of the bare routes; `docs/guides/gateway.md` has what it reached. */
const LEAST = 0.7;

let servers: readonly PrivateRedis[] = [];
let gateway: Gateway;
let bare: TestProcess;
let bareUrl: string;

beforeAll(async () => {
  const [ours, theirs] = await Promise.all([startRedis(), startRedis()]);
  servers = [ours, theirs];
  gateway = await startStandaloneGateway({ redisUrl: ours.url, topics: ['jobs'] });
  bare = new TestProcess('the bare route', 'dist-test/fleet/programs/bare-route.js', [theirs.url]);
  bareUrl = (await bare.printed(SAYS)).slice(SAYS.length).trim();
}, 60_000);

afterAll(async () => {
  await bare?.kill();
  await gateway?.close();
  await Promise.all(servers.map(async (server) => server.stop()));
});

const authorized = { authorization: `Bearer ${TOKEN}` };
const payload = {
  orderId: '0190c3f2-1111-7000-8000-000000000042',
  amount: 4200,
  currency: 'EUR',
  note: 'as every order',
};

/** What is asked for over HTTP, of the gateway and of the bare routes. */
const SIDES = {
  gateway: {
    publish: '/v1/topics/jobs/messages',
    receive: '/v1/topics/jobs/receive',
    settle: '/v1/settle',
    headers: authorized,
  },
  bare: { publish: '/publish', receive: '/receive', settle: '/settle', headers: {} },
} as const;

type Side = keyof typeof SIDES;

async function post(connection: HttpConnection, side: Side, what: 'publish' | 'receive' | 'settle', body: unknown) {
  const { [what]: path, headers } = SIDES[side];
  const answer = await connection.post({ path, headers, body });
  if (answer.status >= 300) throw new Error(`${side} ${what}: ${answer.status} ${answer.body}`);
  return answer.body;
}

const publish = (side: Side) => async (connection: HttpConnection) => {
  await post(connection, side, 'publish', { payload, delay: 0 });
  return 1;
};

const receiveAndSettle = (side: Side) => async (connection: HttpConnection) => {
  const { messages } = JSON.parse(await post(connection, side, 'receive', { max: 1, wait: 100 })) as {
    messages: { receipt: string }[];
  };
  for (const { receipt } of messages) await post(connection, side, 'settle', { receipt, outcome: 'ack' });
  return messages.length;
};

async function compare(work: (side: Side) => (connection: HttpConnection) => Promise<number>) {
  const rates: Record<Side, number[]> = { gateway: [], bare: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const side of ['gateway', 'bare'] as const) {
      rates[side].push(await rateOf(side === 'gateway' ? gateway.url : bareUrl, LOAD, work(side)));
    }
  }
  const ratios = rates.gateway.map((rate, i) => rate / (rates.bare[i] ?? NaN));
  return { gateway: percentile(rates.gateway, 0.5), bare: percentile(rates.bare, 0.5), ratio: percentile(ratios, 0.5) };
}

it('serves nearly as many requests as bare routes that call the library', { timeout: 120_000 }, async () => {
  const published = await compare(publish);
  const settled = await compare(receiveAndSettle);
  for (const [what, { gateway: ours, bare: theirs, ratio }] of [
    ['publish', published],
    ['receive and settle', settled],
  ] as const) {
    report(`${what}: ${Math.round(ours)} a second, bare routes ${Math.round(theirs)}; ratio ${ratio.toFixed(2)}`);
  }
  expect(published.ratio).toBeGreaterThan(LEAST);
  expect(settled.ratio).toBeGreaterThan(LEAST);
});
