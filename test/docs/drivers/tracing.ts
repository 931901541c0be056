import { Injectable } from '@nestjs/common';
import { DelayedHandler } from 'nestjs-delay-queue';
import { expect, it, onTestFinished, vi } from 'vitest';
import { SpanLog } from '../../support/readings/span-log.js';
import { bootApplication, modulesMade } from '../../support/docs/application.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';

@Injectable()
class Orders {
  @DelayedHandler('order.timeout')
  onTimeout(): void {}
}

/** The spans of a message from its publish to its settle, in the order in which they end. */
const SPANS_OF_A_MESSAGE = ['send order.timeout', 'process order.timeout', 'settle order.timeout'];

/** Boots the module that a block makes, and publishes a message that is handled. */
async function handleOneOf(run: Run): Promise<void> {
  const imports = await modulesMade(run);
  const { harness, producer } = await bootApplication({ imports, providers: [Orders] });
  await producer.publish('order.timeout', '42', { delay: '30d' });
  await harness.advance('30d');
}

interface PrintedSpan {
  readonly name: string;
  readonly traceId: string;
}

export function tracing(document: DrivenDocument): void {
  document.drive('Tracing #1', (run) => {
    it('prints the spans of a message, which share a trace from its publish to its outcome', async () => {
      const dir = vi.spyOn(console, 'dir').mockReturnValue();
      onTestFinished(() => new SpanLog().unregister());
      await handleOneOf(run);

      const spans = dir.mock.calls.map(([span]) => span as PrintedSpan);
      expect(spans.map(({ name }) => name)).toEqual(SPANS_OF_A_MESSAGE);
      expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    });
  });
}
