import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { BrokerUnavailableError } from '../../../lib/errors/operation.errors.js';
import { DuplicateMessageError } from '../../../lib/errors/publishing.errors.js';
import { servedTopics } from '../../../lib/gateway/access.js';
import type { GatewayQueues } from '../../../lib/gateway/route.js';
import { type ServedGateway, serveGateway } from '../../../lib/gateway/serve-gateway.js';
import { PublishManyError } from '../../../lib/messages/publish-many.error.js';
import { useServedHandler } from '../../support/units/served-handler.js';

const serve = useServedHandler();
const gateways: ServedGateway[] = [];

afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.close();
});

async function serving(queues: object): Promise<string> {
  return `http://127.0.0.1:${await serve(queues)}/v1/topics/jobs`;
}

async function post(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json', connection: 'close' };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
}

function message(id: string, payload: unknown) {
  const release = vi.fn<(delay?: number) => Promise<string>>(async () => 'settled');
  return { id, topic: 'jobs', payload, receipt: id, lease: 1000, release };
}

/** Publishes messages that are refused for these reasons. */
async function publish(reasons: readonly Error[]): Promise<Response> {
  const results = reasons.map((reason) => ({ status: 'rejected', reason }) as const);
  const publishMany = async (): Promise<never> => {
    throw new PublishManyError('jobs', results);
  };
  const url = await serving({ producer: { publishMany } });
  return post(`${url}/messages`, { messages: reasons.map(() => ({ payload: 1 })) });
}

/** A standalone gateway, without anything behind it. */
async function served(reach: () => Promise<void>, error: () => void = () => {}): Promise<string> {
  const gateway = await serveGateway({
    queues: { admin: { reach } } as unknown as GatewayQueues,
    topics: servedTopics(['jobs']),
    tokens: [],
    host: '127.0.0.1',
    port: 0,
    limits: { maxWaiting: 1, maxBody: 1024 },
    dismiss: async () => {},
    log: { warn: () => {}, error },
  });
  gateways.push(gateway);
  return gateway.url;
}

describe('a payload that JSON cannot write', () => {
  it('has its message put off for those who can read it, and those that came with it are received', async () => {
    const [bad, good] = [message('a', 1n), message('b', 2)];
    const url = await serving({ receiver: { receive: async () => [bad, good] } });
    const response = await post(`${url}/receive`, { max: 2 });
    expect(await response.json()).toMatchObject({ messages: [{ id: 'b', payload: 2 }] });
    expect([bad.release.mock.calls, good.release.mock.calls]).toEqual([[[300_000]], []]);
  });

  it('fails the request alone in which it is looked up', async () => {
    const url = await serving({ admin: { get: async () => message('a', 1n) } });
    const response = await fetch(`${url}/messages/a`, { headers: { connection: 'close' } });
    expect([response.status, await response.json()]).toMatchObject([500, { code: 'INTERNAL' }]);
  });
});

describe('many messages that are published', () => {
  const away = new BrokerUnavailableError('Redis is away');

  it('are one request to be sent again while Redis is away', async () => {
    const response = await publish([away, away]);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await response.json()).toMatchObject({ code: 'BROKER_UNAVAILABLE' });
  });

  it('have a result each if they were refused for different reasons, or for one that does not pass', async () => {
    const exists = new DuplicateMessageError('jobs', 'a');
    for (const reasons of [
      [away, exists],
      [exists, exists],
    ]) {
      expect((await publish(reasons)).status).toBe(207);
    }
  });
});

describe('the standalone gateway', () => {
  it('asks Redis once for all who ask after its health at the same time', async () => {
    const reach = vi.fn<() => Promise<void>>(async () => {});
    const url = await served(reach);
    // The same time, however long this machine takes for them.
    vi.spyOn(performance, 'now').mockReturnValue(1);
    onTestFinished(() => void vi.restoreAllMocks());
    const answers = await Promise.all(Array.from({ length: 20 }, async () => fetch(`${url}/health`)));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(reach).toHaveBeenCalledOnce();
  });

  it('survives what cannot even be answered with an error', async () => {
    const error = vi.fn<() => void>().mockImplementationOnce(() => {
      throw new Error('The log is full');
    });
    const url = await served(async () => {}, error);
    await expect(fetch(`${url}/v1/topics/jobs/stats`)).rejects.toThrow('fetch failed');
    expect(error.mock.lastCall).toMatchObject([/could not answer GET .*The log is full/]);
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });
});
