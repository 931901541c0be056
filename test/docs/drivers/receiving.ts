import { DelayQueueReceiver } from 'nestjs-delay-queue';
import { expect, it, onTestFinished, vi } from 'vitest';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';

const TOPIC = 'video.render';

export function receiving(document: DrivenDocument): void {
  document.drive('Receive and settle #1', (run) => {
    it('renders what is due, and what has failed again', async () => {
      const rendered: unknown[] = [];
      class GraphicsCard {
        async render(payload: unknown, signal: AbortSignal): Promise<void> {
          rendered.push([payload, signal.aborted]);
          if (rendered.length === 1) throw new Error('The card is too hot.');
        }
      }
      const declared = await run({ GraphicsCard });
      const Renderer = classIn<{ renderNext(): Promise<void> }>(declared, 'Renderer');
      const { app, harness, producer } = await bootApplication({ providers: [Renderer, GraphicsCard] });
      const renderer = app.get(Renderer);
      await producer.publish(TOPIC, 'trailer');
      await renderer.renderNext();
      expect(harness.scheduled(TOPIC)).toHaveLength(1);
      const again = renderer.renderNext();
      await harness.advance('20s');
      await again;

      expect(rendered).toEqual([
        ['trailer', false],
        ['trailer', false],
      ]);
      expect(harness.scheduled(TOPIC)).toEqual([]);
    });
  });

  document.drive('Leases #1', (run) => {
    it('extends the lease every 20 seconds', async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      onTestFinished(() => void vi.useRealTimers());
      const { app, harness, producer } = await bootApplication();
      const receiver = app.get(DelayQueueReceiver);
      await producer.publish(TOPIC, 'trailer');
      const { renewal } = await run({ receiver });
      for (let i = 0; i < 5; i++) {
        await harness.advance('50s');
        expect(await receiver.receive(TOPIC)).toEqual([]);
        vi.advanceTimersByTime(20_000);
        await harness.settle();
      }
      clearInterval(renewal as NodeJS.Timeout);
      await harness.advance('1m');

      expect(await receiver.receive(TOPIC)).toHaveLength(1);
    });
  });

  document.drive('Settle in another process #1', (run) => {
    it('settles by the receipt', async () => {
      const { harness, producer, app } = await bootApplication();
      const other = await bootApplication({}, harness);
      await producer.publish(TOPIC, 'trailer', { id: 'a' });
      const [message] = await app.get(DelayQueueReceiver).receive(TOPIC);
      await run({ receipt: message?.receipt ?? '', receiver: other.app.get(DelayQueueReceiver) });

      expect(harness.scheduled(TOPIC)).toEqual([]);
      expect(await message?.ack()).toBe('stale');
    });
  });
}
