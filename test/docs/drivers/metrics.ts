import { Test } from '@nestjs/testing';
import { DelayQueueProducer } from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { expect, it, onTestFinished } from 'vitest';
import { Scrape } from '../../support/readings/prometheus-text.js';
import { request } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';

export function metrics(document: DrivenDocument): void {
  document.drive('Metrics #1', (run) => {
    it('serves what Prometheus scrapes', async () => {
      const builder = Test.createTestingModule({ imports: [classIn(await run(), 'AppModule')] });
      const module = await new DelayQueueHarness().override(builder).compile();
      const app = module.createNestApplication({ logger: false });
      onTestFinished(() => app.close());
      await app.listen(0, '127.0.0.1');
      await app.get(DelayQueueProducer).publish('order.timeout', { orderId: '42' }, { delay: '30m' });

      const scrape = new Scrape(await (await request(`${await app.getUrl()}/metrics`)).text());

      const labels = { topic: 'order.timeout' };
      expect(scrape.value('delay_queue_published_total', { ...labels, outcome: 'created' })).toBe(1);
      expect(scrape.value('delay_queue_scheduled', labels)).toBe(1);
    });
  });
}
