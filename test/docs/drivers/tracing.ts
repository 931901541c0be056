import { Injectable } from '@nestjs/common';
import { DelayedHandler } from 'nestjs-delay-queue';
import { expect, it, onTestFinished } from 'vitest';
import { SpanLog } from '../../support/readings/span-log.js';
import { bootApplication, modulesMade } from '../support/application.js';
import type { DrivenDocument, Run } from '../support/driven-document.js';

@Injectable()
class Orders {
  @DelayedHandler('order.timeout')
  onTimeout(): void {}
}

/** The spans of a message from its publish to its settle, in the order in which they end. */
export const SPANS_OF_A_MESSAGE = ['send order.timeout', 'process order.timeout', 'settle order.timeout'];

/** Boots the module that a block makes, and publishes a message that is handled. */
export async function handleOneOf(run: Run): Promise<void> {
  const imports = await modulesMade(run);
  const { harness, producer } = await bootApplication({ imports, providers: [Orders] });
  await producer.publish('order.timeout', '42', { delay: '30d' });
  await harness.advance('30d');
}

export function tracing(readme: DrivenDocument): void {
  readme.drive('Tracing #1', (run) => {
    it('traces a message from its publish to what became of it', async () => {
      const log = new SpanLog();
      log.register();
      onTestFinished(() => log.unregister());
      await handleOneOf(run);

      expect(log.spans.map(({ name }) => name)).toEqual(SPANS_OF_A_MESSAGE);
      expect(new Set(log.spans.map((span) => span.spanContext().traceId)).size).toBe(1);
    });
  });
}
