import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { freePort } from '../../support/servers/redis-server.js';

it.each([
  { what: 'port', above: 1 },
  { what: 'second port, for a Cluster,', above: 10_001 },
])('a port is not free if its $what is taken, by whomever', async ({ above }) => {
  const before = await freePort();
  const taker = createServer().listen(before + above, '127.0.0.1');
  // If it fails, another process has the port, which is as good.
  await once(taker, 'listening').catch(() => {});

  expect(await freePort()).not.toBe(before + 1);
  taker.close();
});
