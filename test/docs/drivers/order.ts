import { Injectable } from '@nestjs/common';
import { DelayedHandler, DelayQueueModule, UnrecoverableError } from 'nestjs-delay-queue';
import { expect, it, vi } from 'vitest';
import { bootApplication, modulesMade } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';

const TOPIC = 'order.step';
const ORDERED = [DelayQueueModule.forRoot({ topics: { [TOPIC]: { ordered: true } } })];

/** Payments fail for ever, and everything else fails once. */
@Injectable()
class Steps {
  readonly handled: string[] = [];
  readonly #tried = new Set<string>();

  @DelayedHandler(TOPIC, { backoff: { type: 'fixed', delay: '1m' } })
  async handle({ step }: { step: string }): Promise<void> {
    if (step === 'paid') throw new UnrecoverableError('There is no such account');
    if (!this.#tried.has(step)) {
      this.#tried.add(step);
      throw new Error('Once more');
    }
    this.handled.push(step);
  }
}

export function order(document: DrivenDocument): void {
  document.drive('Handle messages of a key in order #1', (run) => {
    it('handles the steps of an order one after the other', async () => {
      const log = vi.spyOn(console, 'log').mockReturnValue();
      const declared = await run();
      const { harness, producer } = await bootApplication({ imports: [classIn(declared, 'OrderModule')] });
      for (const step of ['created', 'paid', 'shipped']) await producer.publish(TOPIC, { step }, { key: 'order-42' });
      await harness.settle();

      expect(log.mock.calls).toEqual(['created', 'paid', 'shipped'].map((step) => ['order-42', step]));
    });
  });

  document.drive('Handle messages of a key in order #2', (run) => {
    it('keeps what follows waiting for a retry, and no other order', async () => {
      const { harness, producer, app } = await bootApplication({ imports: ORDERED, providers: [Steps] });
      await run({ producer });
      await harness.settle();
      expect(harness.scheduled(TOPIC)).toHaveLength(2);
      expect(app.get(Steps).handled).toEqual(['created']);
      await harness.advance('1m');

      expect(app.get(Steps).handled).toEqual(['created', 'created']);
      expect(harness.deadLetters(TOPIC)).toMatchObject([{ payload: { step: 'paid' } }]);
    });
  });

  document.drive('Block a key after a dead letter #1', (run) => {
    it('holds back what follows a dead letter', async () => {
      const imports = await modulesMade(run);
      const { harness, producer, admin } = await bootApplication({ imports, providers: [Steps] });
      for (const step of ['paid', 'shipped']) await producer.publish(TOPIC, { step }, { key: 'order-42' });
      await harness.advance('1h');

      expect(await admin.stats(TOPIC)).toMatchObject({ dead: 1, blocked: 1, due: 0 });
    });
  });

  document.drive('Find out what a message waits for #1', (run) => {
    it('names the message that has to be done first', async () => {
      const { harness, producer, admin } = await bootApplication({ imports: ORDERED, providers: [Steps] });
      const log = vi.spyOn(console, 'log').mockReturnValue();
      await producer.publish(TOPIC, { step: 'created' }, { id: 'created-42', key: 'order-42' });
      await producer.publish(TOPIC, { step: 'paid' }, { id: 'paid-42', key: 'order-42' });
      await harness.settle();
      const { blocked } = await run({ admin });

      expect(log.mock.calls).toEqual([['created-42']]);
      expect(blocked).toBe(1);
    });
  });
}
