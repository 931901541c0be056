import { Injectable } from '@nestjs/common';
import { DelayedHandler, DelayQueueModule } from 'nestjs-delay-queue';
import { expect, it, vi } from 'vitest';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';

const TOPIC = 'webhook';
const KEEPING = [DelayQueueModule.forRoot({ topics: { [TOPIC]: { finished: { maxAge: '1d' } } } })];

/** Fails once. */
@Injectable()
class Webhooks {
  readonly handled: string[] = [];

  @DelayedHandler(TOPIC, { backoff: { type: 'fixed', delay: '1m' } })
  handle({ event }: { event: string }): void {
    this.handled.push(event);
    if (this.handled.length === 1) throw new Error('Once more');
  }
}

export function finished(document: DrivenDocument): void {
  document.drive('Keep finished messages #1', (run) => {
    it('keeps what was handled, for a day', async () => {
      const log = vi.spyOn(console, 'log').mockReturnValue();
      const declared = await run();
      const { harness, producer, admin } = await bootApplication({ imports: [classIn(declared, 'WebhookModule')] });
      await producer.publish(TOPIC, { event: 'paid' }, { id: 'event-42' });
      await harness.settle();

      expect(log.mock.calls).toEqual([['paid']]);
      expect(await admin.get(TOPIC, 'event-42')).toMatchObject({ state: 'finished', payload: { event: 'paid' } });
      await harness.advance('1d');
      expect(await admin.get(TOPIC, 'event-42')).toBeUndefined();
      await harness.advance('1s');
      expect(await admin.stats(TOPIC)).toMatchObject({ finished: 0 });
    });
  });

  document.drive('Reject an id that was handled #1', (run) => {
    it('says what became of the first one', async () => {
      const log = vi.spyOn(console, 'log').mockReturnValue();
      const { harness, producer, app } = await bootApplication({ imports: KEEPING, providers: [Webhooks] });
      await run({ producer });
      await run({ producer });
      await harness.advance('1h');
      await run({ producer });

      expect(app.get(Webhooks).handled).toEqual(['paid', 'paid']);
      expect(log.mock.calls).toEqual([['event-42 came before: it is on its way'], ['event-42 came before: acked']]);
      await harness.advance('1d');
      await run({ producer });
      await harness.settle();
      expect(app.get(Webhooks).handled).toEqual(['paid', 'paid', 'paid']);
    });
  });

  document.drive('Look up a finished message #1', (run) => {
    it('shows the story of a message', async () => {
      const log = vi.spyOn(console, 'log').mockReturnValue();
      const { harness, producer, admin } = await bootApplication({ imports: KEEPING, providers: [Webhooks] });
      await producer.publish(TOPIC, { event: 'paid' }, { id: 'event-42' });
      await harness.advance('1h');
      const { messages } = await run({ admin });

      expect(log.mock.calls).toEqual([['acked', expect.any(Date), 2, 0, expect.stringContaining(':')]]);
      expect(messages).toMatchObject([
        { id: 'event-42', outcome: 'acked', history: [{ attempt: 1, message: 'Once more' }] },
      ]);
    });
  });
}
