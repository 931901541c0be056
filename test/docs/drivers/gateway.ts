import { DelayQueueGatewayModule } from 'nestjs-delay-queue/gateway';
import { expect, it } from 'vitest';
import { request, serveApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';

export function gateway(document: DrivenDocument): void {
  document.drive('Add it to your application #1', (run) => {
    it('lets the shop publish to its topic, and nobody anything else', async () => {
      let service: string | undefined = 'shop';
      const declared = await run({ serviceOf: () => service });
      const imports = Reflect.getMetadata('imports', classIn(declared, 'AppModule')) as { module: unknown }[];
      const { url } = await serveApplication({
        imports: imports.filter(({ module }) => module === DelayQueueGatewayModule) as never[],
      });
      const publish = async (topic: string): Promise<number> => {
        const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"payload":1}' };
        return (await fetch(`${url}/v1/topics/${topic}/messages`, init)).status;
      };

      expect(await publish('order.timeout')).toBe(201);
      expect(await publish('invoice.send')).toBe(403);
      expect(await publish('other')).toBe(404);
      expect((await request(`${url}/v1/topics/order.timeout/stats`)).status).toBe(403);
      service = undefined;
      expect(await publish('order.timeout')).toBe(403);
    });
  });
}
