import type { Server } from 'node:http';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { expect, it, onTestFinished, vi } from 'vitest';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

export function push(document: DrivenDocument): void {
  document.drive('Push a topic to a URL #1', (run) => {
    it('boots, and pushes what is due to that URL', async () => {
      vi.stubEnv('WEBHOOK_SECRET', SECRET);
      const declared = await run();
      const { admin, producer } = await bootApplication({ imports: [classIn(declared, 'AppModule')] });
      await producer.publish('order.timeout', 1, { delay: '30m' });

      expect(await admin.stats('order.timeout')).toMatchObject({ scheduled: 1 });
    });
  });

  document.drive('The other side #1', (run) => {
    it('closes each order once, and nothing that is not signed', async () => {
      vi.stubEnv('WEBHOOK_SECRET', SECRET);
      const closed: unknown[] = [];
      const seen = new Set<unknown>();
      const isNew = async (id: unknown): Promise<boolean> => !seen.has(id) && Boolean(seen.add(id));
      const declared = await run({ isNew, closeOrder: async (order: unknown) => void closed.push(order) });
      const url = await listen(declared['server'] as Server);
      const topics = { 'order.timeout': { push: { url, secret: SECRET, allowPrivate: true } } };
      const { harness, producer } = await bootApplication({ imports: [DelayQueueModule.forRoot({ topics })] });
      await producer.publish('order.timeout', { id: '42' }, { delay: '30m' });
      await harness.advance('30m');

      expect(closed).toEqual([{ id: '42' }]);
      expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401);
      expect(closed).toHaveLength(1);
    });
  });
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}
