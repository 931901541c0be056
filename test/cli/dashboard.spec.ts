import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { TOPIC, useCliBed } from '../support/cli/cli-bed.js';
import { runInProcess } from '../support/cli/run-in-process.js';
import { whileServing } from '../support/cli/while-serving.js';
import { freePort } from '../support/servers/redis-server.js';

const bed = useCliBed('file', async (filled) => {
  await filled.publish([{ payload: {}, options: { id: '1', delay: '1h' } }]);
});

const whileShowing = async (args: readonly string[], use: (url: string) => Promise<void>) =>
  whileServing(['dashboard', ...args], { env: bed.env }, use);

async function cancel(url: string): Promise<Response> {
  const headers = {
    'content-type': 'application/json',
    'x-delay-queue-dashboard': '1',
    'sec-fetch-site': 'same-origin',
  };
  return fetch(`${url}api/cancel`, { method: 'POST', headers, body: JSON.stringify({ topic: TOPIC, id: '1' }) });
}

describe('dashboard', () => {
  it('serves it to this machine by a URL with a token, and only shows', async () => {
    const { errors } = await whileShowing([], async (url) => {
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/$/);
      expect(await (await fetch(`${url}api/topic?topic=${TOPIC}`)).json()).toMatchObject({ scheduled: 1 });
      expect((await fetch(new URL('/', url))).status).toBe(401);
      expect((await cancel(url)).status).toBe(403);
    });
    expect(errors).toContain('Whoever has this URL may look. Ctrl-C ends it.');
  });

  it('lets it change something with --operate, on a port that is given, in the name of its user', async () => {
    const port = await freePort();
    const args = ['--operate', '--port', String(port), '--actor', 'ann', '--json'];
    const { output, errors } = await whileShowing(args, async (url) => {
      expect(new URL(url).port).toBe(String(port));
      expect(await (await cancel(url)).json()).toEqual({ result: 'cancelled' });
    });
    expect(JSON.parse(output)).toEqual({ url: expect.any(String), operate: true });
    expect(errors).toBe('');
    expect((await bed.admin.audit()).entries).toMatchObject([{ action: 'cancel', actor: 'ann' }]);
  });

  it.each(['dashboard', `gateway --topics ${TOPIC}`])('says that another program has the port: %s', async (command) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const { code, stderr } = await runInProcess([...command.split(' '), '--port', String(port), '--json'], {
      env: bed.env,
    });
    other.close();
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/The (dashboard|gateway) cannot listen on 127\.0\.0\.1, port \d+: EADDRINUSE\./),
    ]);
  });
});
