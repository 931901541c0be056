import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';
import { servedTopics } from '../../../lib/gateway/access.js';
import { GatewayHandler } from '../../../lib/gateway/gateway.handler.js';
import type { GatewayQueues } from '../../../lib/gateway/route.js';
import { ROUTES } from '../../../lib/gateway/routes.js';

/**
 * Serves the topic `jobs` by a gateway in front of what a test does in the place of the queues, until the test has ended. To be called
 * while tests are collected.
 *
 * @returns what serves, and answers its port
 */
export function useServedHandler(): (queues: object) => Promise<number> {
  const servers: Server[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
  return async (queues) => {
    const handler = new GatewayHandler({
      queues: queues as GatewayQueues,
      topics: servedTopics(['jobs']),
      routes: ROUTES,
      limits: { maxWaiting: 2, maxBody: 1024 },
      log: { warn: () => {}, error: () => {} },
    });
    const server = createServer((request, response) => {
      const path = request.url ?? '';
      void handler.handle({ request, response, path, search: '', body: undefined, may: async () => true });
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  };
}
