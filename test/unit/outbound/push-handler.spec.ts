import dns from 'node:dns';
import http from 'node:http';
import net from 'node:net';
import { type MockInstance, afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { resolvePush } from '../../../lib/outbound/push/resolve-push.js';
import { PushHandler } from '../../../lib/outbound/push/push.handler.js';
import { PushReceiver } from '../../support/servers/push-receiver.js';
import { deliveredMessage } from '../../support/units/delivered-message.js';

/** The names of the tests, and where they lead. */
const NAMES = new Map<string, dns.LookupAddress[]>();

type LookUp = (name: string, options: object, answer: (error: null, found: dns.LookupAddress[]) => void) => void;

beforeEach(() => {
  const real = dns.lookup as LookUp;
  const lookup = vi.spyOn(dns, 'lookup') as unknown as MockInstance<LookUp>;
  lookup.mockImplementation((name, options, answer) => {
    const found = NAMES.get(name);
    if (found) answer(null, found);
    else real(name, options, answer);
  });
});

afterEach(() => {
  NAMES.clear();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

async function start(push: { url?: string; allowPrivate?: boolean }) {
  const receiver = await PushReceiver.start();
  const handler = new PushHandler(resolvePush('push', { url: receiver.url, secret, ...push }));
  onTestFinished(async () => {
    handler.close();
    await receiver.stop();
  });
  return { receiver, handler };
}

it.each([
  ['this host', ['127.0.0.1']],
  ['a private network beside a public address', ['1.1.1.1', '10.0.0.7']],
  ['the metadata of a cloud', ['169.254.169.254']],
  ['this host in IPv6', ['::1']],
  ['this host as a mapped address', ['::ffff:127.0.0.1']],
])('connects to nothing if a name leads to %s', async (_, addresses) => {
  NAMES.set(
    'hooks.example.com',
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  );
  const local = await PushReceiver.start();
  onTestFinished(async () => local.stop());
  const { handler } = await start({ url: `http://hooks.example.com:${local.port}` });
  await expect(handler.handle(deliveredMessage())).rejects.toMatchObject({
    code: 'PUSH_FAILED',
    message: `The push to http://hooks.example.com:${local.port} has failed: hooks.example.com leads to ${addresses.at(-1)}, which is not an address of the public internet`,
  });
  expect(local.connections).toBe(0);
});

it('connects to nothing if a name that was public leads elsewhere by now', async () => {
  // A network in which the public address is the receiver: no packet leaves this host.
  vi.spyOn(http.Agent.prototype, 'createConnection').mockImplementation((options) => {
    const { lookup } = options as net.TcpNetConnectOpts;
    const rerouted: net.LookupFunction = (name, how, answer) =>
      lookup?.(name, how, (error) => answer(error, [{ address: '127.0.0.1', family: 4 }]));
    return net.connect({ ...(options as net.TcpNetConnectOpts), lookup: rerouted });
  });
  const receiver = await PushReceiver.start();
  onTestFinished(async () => receiver.stop());
  receiver.answer = (response) => response.writeHead(204, { connection: 'close' }).end();
  const { handler } = await start({ url: `http://hooks.example.com:${receiver.port}` });
  NAMES.set('hooks.example.com', [{ address: '1.1.1.1', family: 4 }]);
  await handler.handle(deliveredMessage());
  NAMES.set('hooks.example.com', [{ address: '127.0.0.1', family: 4 }]);
  await expect(handler.handle(deliveredMessage())).rejects.toThrow('hooks.example.com leads to 127.0.0.1');
  expect([receiver.requests.length, receiver.connections]).toEqual([1, 1]);
});

it('uses no proxy of the environment', async () => {
  const { receiver: proxy } = await start({ allowPrivate: true });
  for (const name of ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'ALL_PROXY', 'NODE_USE_ENV_PROXY']) {
    vi.stubEnv(name, `http://127.0.0.1:${proxy.port}`);
  }
  const { receiver, handler } = await start({ allowPrivate: true });
  await handler.handle(deliveredMessage());
  expect([receiver.requests.length, proxy.connections]).toEqual([1, 0]);
});

it('sends nothing if its time is up already', async () => {
  const { receiver, handler } = await start({ allowPrivate: true });
  const reason = new Error('cancelled');
  await expect(handler.handle(deliveredMessage({ signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
  expect(receiver.connections).toBe(0);
});

it('sends null for nothing, and gives up what JSON cannot hold', async () => {
  const { receiver, handler } = await start({ allowPrivate: true });
  await handler.handle(deliveredMessage({ payload: undefined }));
  expect(receiver.requests[0]?.body).toBe('null');
  const beyondJson: [unknown, string][] = [
    [{ total: 1n }, 'its payload.total is a BigInt, which JSON cannot hold. Publish it as a string.'],
    [{ total: NaN }, 'its payload.total is NaN, which JSON would turn into null. Publish a finite number, or null.'],
    [
      { lines: new Map([[1, 2]]) },
      'its payload.lines is an instance of Map, which JSON would turn into {}. Publish what it holds as plain data.',
    ],
  ];
  for (const [payload, says] of beyondJson) {
    await expect(handler.handle(deliveredMessage({ payload }))).rejects.toMatchObject({
      code: 'UNRECOVERABLE',
      message: `A message of topic 'orders' cannot be pushed: ${says}`,
    });
  }
  expect(receiver.requests).toHaveLength(1);
});

const inADay = new Date(Date.now() + 24 * 3_600_000).toUTCString();

it.each([
  ['429 without Retry-After', 429, undefined, 30_000, '30 seconds'],
  ['429 with one that nobody can read', 429, 'soon', 30_000, '30 seconds'],
  ['429 with one below 0', 429, '-5', 30_000, '30 seconds'],
  ['429 with so many seconds', 429, '90', 90_000, '90 seconds'],
  ['503 with so many seconds', 503, '90', 90_000, '90 seconds'],
  ['429 with no time', 429, '0', 1000, '1 second'],
  ['503 with no time', 503, '0', 1000, '1 second'],
  ['429 with a date that has gone by', 429, 'Sun, 06 Nov 1994 08:49:37 GMT', 1000, '1 second'],
  ['429 with a date in a day', 429, inADay, 3_600_000, '1 hour'],
  ['503 with a year', 503, '31536000', 3_600_000, '1 hour'],
  ['429 with a million years', 429, '31536000000000', 3_600_000, '1 hour'],
  ['503 with a million years', 503, '31536000000000', 3_600_000, '1 hour'],
])(
  'leaves a server alone for as long as it wants to be, from 1 s to 1 h: %s',
  async (_, status, value, delay, text) => {
    const { receiver, handler } = await start({ allowPrivate: true });
    receiver.answer = (response) =>
      response.writeHead(status, value === undefined ? {} : { 'retry-after': value }).end('slow down');
    await expect(handler.handle(deliveredMessage())).rejects.toMatchObject({
      name: 'RateLimitedError',
      delay,
      message: `Put off by ${text}. The push to http://127.0.0.1:${receiver.port} was answered with ${status}: slow down`,
    });
  },
);

it.each([410, 413, 431])('gives up what is answered with %d: the same request would be, too', async (status) => {
  const { receiver, handler } = await start({ allowPrivate: true });
  receiver.answer = (response) => response.writeHead(status).end();
  await expect(handler.handle(deliveredMessage())).rejects.toMatchObject({
    code: 'UNRECOVERABLE',
    message: `The push to http://127.0.0.1:${receiver.port} was answered with ${status}.`,
  });
});

it('is at work on a message until the answer has ended', async () => {
  const { receiver, handler } = await start({ allowPrivate: true });
  let hasEnded = false;
  receiver.answer = (response) => {
    response.writeHead(200).write('on its way');
    setTimeout(() => {
      hasEnded = true;
      response.end();
    }, 100);
  };
  await handler.handle(deliveredMessage());
  expect(hasEnded).toBe(true);
});

it('sends headers of a message that differ by their case alone as lines of one header', async () => {
  const { receiver, handler } = await start({ allowPrivate: true });
  await handler.handle(deliveredMessage({ headers: { Tenant: 'a', tenant: 'b', TENANT: 'c' } }));
  expect(receiver.requests[0]?.headers).toMatchObject({ 'delay-queue-header-tenant': 'a, b, c' });
});

it('lets no header of a message pass for one of its own', async () => {
  const { receiver, handler } = await start({ allowPrivate: true });
  const forged = { 'webhook-id': 'x', Host: 'x', 'delay-queue-topic': 'x', 'Content-Length': '0', a: 'b\r\nc: d' };
  await handler.handle(deliveredMessage({ headers: forged }));
  expect(receiver.requests[0]?.headers).toMatchObject({
    'delay-queue-topic': 'orders',
    host: `127.0.0.1:${receiver.port}`,
    'delay-queue-header-webhook-id': 'x',
    'delay-queue-header-host': 'x',
    'delay-queue-header-delay-queue-topic': 'x',
    'delay-queue-header-content-length': '0',
    'delay-queue-header-a': 'b%0D%0Ac: d',
  });
  expect(receiver.requests[0]?.body).toBe('{"n":1}');
});
