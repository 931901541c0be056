import { Injectable } from '@nestjs/common';
import { DelayedHandler, DelayQueueModule, type TopicOptions } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { bootApplication, modulesMade } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';
import { stubFetch } from '../../support/docs/stub-fetch.js';

@Injectable()
class Mails {
  sent = 0;

  @DelayedHandler('mail.send')
  send(): void {
    this.sent++;
  }
}

@Injectable()
class Imports {
  running = 0;
  most = 0;

  @DelayedHandler('stock.import')
  async import(): Promise<void> {
    this.most = Math.max(this.most, ++this.running);
    await Promise.resolve();
    this.running--;
  }
}

@Injectable()
class Exports {
  readonly handled: string[] = [];

  @DelayedHandler('order.export')
  export({ orderId }: { orderId: string }): void {
    this.handled.push(orderId);
  }
}

const LIMITED = { topics: { 'order.export': { rateLimit: { max: 5, per: '1m', by: 'key' } } } } as const;

export function limits(document: DrivenDocument): void {
  document.drive('Rate limit #1', (run) => {
    it('begins 50 calls in a second', async () => {
      const { harness, producer, app } = await bootApplication({ imports: await modulesMade(run), providers: [Mails] });
      await producer.publishMany(
        'mail.send',
        Array.from({ length: 120 }, (_, n) => ({ payload: n })),
      );
      await harness.advance(999);
      expect(app.get(Mails).sent).toBe(50);
      await harness.advance('2s');
      expect(app.get(Mails).sent).toBe(120);
    });
  });

  document.drive('Concurrency limit #1', (run) => {
    it('has 10 in flight', async () => {
      const { harness, producer, app } = await bootApplication({
        imports: await modulesMade(run),
        providers: [Imports],
      });
      await producer.publishMany(
        'stock.import',
        Array.from({ length: 40 }, (_, n) => ({ payload: n })),
      );
      await harness.settle();
      expect(app.get(Imports)).toMatchObject({ running: 0, most: 10 });
    });
  });

  document.drive('Limits per key #1', (run) => {
    it('begins 5 exports of a customer in a minute', async () => {
      const { topics } = (await run()) as { topics: Record<string, TopicOptions> };
      const imports = [DelayQueueModule.forRoot({ topics })];
      const { harness, producer, app } = await bootApplication({ imports, providers: [Exports] });
      for (const key of ['a', 'b']) {
        await producer.publishMany(
          'order.export',
          Array.from({ length: 7 }, (_, n) => ({ payload: { orderId: `${key}${n}` }, options: { key } })),
        );
      }
      await harness.advance('50s');
      expect(app.get(Exports).handled).toHaveLength(10);
      await harness.advance('20s');
      expect(app.get(Exports).handled).toHaveLength(14);
    });
  });

  document.drive('Limits per key #2', (run) => {
    it('publishes an export of a customer', async () => {
      const imports = [DelayQueueModule.forRoot(LIMITED)];
      const { harness, producer, app } = await bootApplication({ imports, providers: [Exports] });
      await run({ producer });
      await harness.settle();
      expect(app.get(Exports).handled).toEqual(['42']);
      expect(harness.published('order.export')).toMatchObject([{ key: 'customer-7' }]);
    });
  });

  document.drive('Handling 429 #1', (run) => {
    it('sends nothing until the provider takes mails again', async () => {
      let status = 429;
      const requests = stubFetch(() => new Response(null, { status, headers: { 'retry-after': '30' } }));
      const declared = await run();
      const imports = [DelayQueueModule.forRoot()];
      const { harness, producer } = await bootApplication({ imports, providers: [classIn(declared, 'MailService')] });
      await producer.publish('mail.send', { to: 'a@example.com' });
      await harness.settle();
      status = 200;
      await producer.publish('mail.send', { to: 'b@example.com' });
      await harness.advance('29s');
      expect(requests).toHaveBeenCalledTimes(1);
      await harness.advance('2s');
      expect(requests).toHaveBeenCalledTimes(3);
    });
  });

  document.drive('Monitor limits #1', (run) => {
    it('tells what waits', async () => {
      const imports = [DelayQueueModule.forRoot(LIMITED)];
      const { harness, producer, admin } = await bootApplication({ imports, providers: [Exports] });
      await producer.publishMany(
        'order.export',
        Array.from({ length: 7 }, (_, n) => ({ payload: { orderId: String(n) }, options: { key: 'a' } })),
      );
      await harness.settle();
      expect(await run({ admin })).toMatchObject({ due: 0, blocked: 2, heldUntil: undefined });
    });
  });
}
