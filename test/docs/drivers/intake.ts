import { Injectable } from '@nestjs/common';
import { DelayedHandler, DelayQueueConsumers } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';
import { Gate } from '../../support/waiting.js';

const TOPIC = 'report.build';

@Injectable()
class Reports {
  readonly built: string[] = [];

  @DelayedHandler(TOPIC)
  build({ name }: { name: string }): void {
    this.built.push(name);
  }
}

export function intake(document: DrivenDocument): void {
  document.drive('Start handling later #1', (run) => {
    it('handles what waits once the cache is full', async () => {
      const filled = new Gate();
      @Injectable()
      class ReportCache {
        readonly fill = async (): Promise<void> => filled.opened;
      }
      const declared = await run({ ReportCache, Reports });
      const { app, harness, producer } = await bootApplication({ imports: [classIn(declared, 'WorkerModule')] });
      await producer.publish(TOPIC, { name: 'sales' });
      await harness.settle();
      expect([app.get(DelayQueueConsumers).running, app.get(Reports).built]).toEqual([[], []]);

      filled.open();
      await harness.settle();
      expect([app.get(DelayQueueConsumers).running, app.get(Reports).built]).toEqual([[TOPIC], ['sales']]);
    });
  });

  document.drive('Stop handling for a while #1', (run) => {
    it('builds nothing here meanwhile, and everything afterwards', async () => {
      const { app, harness, producer } = await bootApplication({ providers: [Reports] });
      const consumers = app.get(DelayQueueConsumers);
      const meanwhile: unknown[] = [];
      const compactFiles = async (): Promise<void> => {
        await producer.publish(TOPIC, { name: 'sales' });
        await harness.settle();
        meanwhile.push(consumers.running, [...app.get(Reports).built]);
      };
      await run({ consumers, compactFiles });
      await harness.settle();

      expect(meanwhile).toEqual([[], []]);
      expect(app.get(Reports).built).toEqual(['sales']);
    });
  });
}
