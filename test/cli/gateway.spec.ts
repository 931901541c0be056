import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DelayQueueReceiver } from '../../lib/consumer/delay-queue.receiver.js';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { useCliBed } from '../support/cli/cli-bed.js';
import { runInProcess } from '../support/cli/run-in-process.js';
import { whileServing } from '../support/cli/while-serving.js';
import { TOKEN } from '../support/gateway/gateway.js';
import { startStandaloneGateway } from '../support/gateway/standalone-gateway.js';
import { folderOfRun } from '../support/processes/left-processes.js';
import { until } from '../support/waiting.js';

const bed = useCliBed('file', async () => {});

async function send(url: string, path: string, token?: string, body?: object): Promise<Response> {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body && { 'content-type': 'application/json' }),
  };
  return fetch(`${url}${path}`, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
}

describe('gateway', () => {
  it('ends in order when its terminal is closed, of which it is told twice', async () => {
    const receive = vi.spyOn(DelayQueueReceiver.prototype, 'receive');
    await whileServing(['gateway', '--topics', 'orders'], { env: bed.env }, async (url) => {
      const headers = { 'content-type': 'application/json' };
      const sent = fetch(`${url}/v1/topics/orders/receive`, { method: 'POST', headers, body: '{"wait":"50s"}' });
      await until('somebody to wait', () => receive.mock.calls.length > 0);
      for (let told = 0; told < 2; told++) process.emit('SIGHUP');
      expect((await sent).status).toBe(200);
    }).finally(() => receive.mockRestore());
  });

  it('serves topics to this machine, and says who may do what', async () => {
    const args = ['gateway', '--topics', 'orders, mails'];
    const { errors } = await whileServing(args, { env: bed.env }, async (url) => {
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      expect(await (await send(url, '/v1/topics')).json()).toEqual({ topics: ['orders', 'mails'] });
      expect(await (await send(url, '/health')).json()).toEqual({ status: 'up' });
    });
    expect(errors).toContain('It serves orders, mails. Everybody on this machine may do everything. Ctrl-C ends it.');
  });

  it('keeps messages in its own memory with --redis embedded:', async () => {
    const gateway = await startStandaloneGateway({ redisUrl: 'embedded:', topics: ['orders'] });
    onTestFinished(() => gateway.close());
    expect((await send(gateway.url, '/v1/topics/orders/messages', TOKEN, { id: '42', payload: 7 })).status).toBe(201);
    const received = await send(gateway.url, '/v1/topics/orders/receive', TOKEN, { wait: '20s' });
    expect(await received.json()).toMatchObject({ messages: [{ id: '42', payload: 7 }] });
  });

  it('takes tokens from its arguments, its environment and a file, which gives them rights', async () => {
    const config = join(folderOfRun(), 'gateway.json');
    const shop = { name: 'shop', token: 'of-the-shop', rights: { bills: ['read'] } };
    await writeFile(config, JSON.stringify({ topics: { bills: { partitions: 3 } }, tokens: [shop] }));
    const args = ['gateway', '--config', config, '--topics', 'mails', '--token', 'given', '--json'];
    const env = { ...bed.env, DELAY_QUEUE_GATEWAY_TOKEN: 'of-the-environment' };
    const { output } = await whileServing(args, { env }, async (url) => {
      const topics = async (token?: string): Promise<unknown> => (await send(url, '/v1/topics', token)).json();
      for (const token of ['given', 'of-the-environment']) {
        expect(await topics(token)).toEqual({ topics: ['mails', 'bills'] });
      }
      expect(await topics('of-the-shop')).toEqual({ topics: ['bills'] });
      expect(await topics()).toMatchObject({ code: 'UNAUTHORIZED' });
      const stats = await send(url, '/v1/topics/bills/stats', 'of-the-shop');
      expect(await stats.json()).toMatchObject({ partitions: [{}, {}, {}] });
    });
    expect(JSON.parse(output)).toEqual({ url: expect.any(String), topics: ['mails', 'bills'] });
    const twice = { env: { ...bed.env, DELAY_QUEUE_GATEWAY_TOKEN: 'of-the-shop' } };
    expect(await runInProcess(['gateway', '--config', config], twice)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/token 'shop' .* would allow everything/) as string,
    });
  });
});
