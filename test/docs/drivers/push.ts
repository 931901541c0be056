import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, type Server, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { expect, it, vi } from 'vitest';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

export function push(document: DrivenDocument): void {
  document.drive('A topic for a URL #1', (run) => {
    it('boots, and pushes to that URL', async () => {
      vi.stubEnv('WEBHOOK_SECRET', SECRET);
      const forRoot = vi.spyOn(DelayQueueModule, 'forRoot');
      const declared = await run();
      const { admin, producer } = await bootApplication({ imports: [classIn(declared, 'AppModule')] });
      await producer.publish('order.timeout', 1, { delay: '30m' });
      expect(await admin.stats('order.timeout')).toMatchObject({ scheduled: 1 });
      expect(forRoot.mock.calls[0]?.[0]?.topics).toEqual({
        'order.timeout': { attempts: 20, push: { url: 'https://shop.example.com/hooks/orders', secret: SECRET } },
      });
    });
  });

  document.drive('The other side #1', (run) => {
    it('closes each order once, and nothing that is not signed', async () => {
      vi.stubEnv('WEBHOOK_SECRET', SECRET);
      const closed: unknown[] = [];
      const seen = new Set<unknown>();
      const isNew = async (id: unknown): Promise<boolean> => !seen.has(id) && Boolean(seen.add(id));
      const declared = await run({ isNew, closeOrder: async (order: unknown) => void closed.push(order) });
      const server = declared['server'] as Server;
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve);
      });
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const topics = { 'order.timeout': { push: { url, secret: SECRET, allowPrivate: true } } };
      const { harness, producer } = await bootApplication({ imports: [DelayQueueModule.forRoot({ topics })] });
      await producer.publish('order.timeout', { id: '42' }, { delay: '30m' });
      await harness.advance('30m');
      expect(closed).toEqual([{ id: '42' }]);
      expect(await statusOf(request(url, { method: 'POST', agent: false }).end('{}'))).toBe(401);
      server.closeAllConnections();
      server.close();
      expect(closed).toHaveLength(1);
    });
  });
}

async function statusOf(sent: ClientRequest): Promise<number | undefined> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}
