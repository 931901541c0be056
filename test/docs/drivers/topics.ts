import { InvalidPayloadError, type TopicRef } from 'nestjs-delay-queue';
import { expect, it, vi } from 'vitest';
import { MINUTE } from '../../support/kit/kit-bed.js';
import { bootApplication, bootPublisher } from '../support/application.js';
import type { DrivenDocument } from '../support/driven-document.js';
import { classIn } from '../support/run-block.js';

export function topics(readme: DrivenDocument): void {
  readme.drive('Typed topics #1', (run) => {
    it('publishes a message that its handler gets after 30 minutes', async () => {
      const { harness, producer } = await bootPublisher();
      const log = vi.spyOn(console, 'log').mockReturnValue();
      await bootApplication({ providers: [classIn(await run({ producer }), 'OrderTimeouts')] }, harness);

      await harness.advance(30 * MINUTE - 1);
      expect(log).not.toHaveBeenCalled();
      await harness.advance(1);

      expect(log.mock.calls).toEqual([['Order 42 was not paid']]);
    });
  });

  readme.drive('Typed topics #2', (run) => {
    it('is nothing at run time; what it means to the compiler, readme.spec.ts sees', async () => {
      expect(await run()).toEqual({});
    });
  });

  readme.drive('Schemas #1', (run) => {
    it('checks what is published, and gives the handler what the schema makes of it', async () => {
      const { harness, producer } = await bootPublisher();
      const log = vi.spyOn(console, 'log').mockReturnValue();
      const declared = await run({ producer });
      await bootApplication({ providers: [classIn(declared, 'PlacedOrders')] }, harness);
      await harness.settle();

      const [stored] = harness.published<{ placedAt: string }>('order.placed');
      expect(stored?.payload).toEqual({ orderId: '42', placedAt: expect.any(String) as string });
      expect(log.mock.calls).toEqual([[`Order 42 was placed ${stored?.payload.placedAt}, in EUR`]]);
      const wrong = producer.publish(declared['orderPlaced'] as TopicRef, { orderId: '43', placedAt: 'today' });
      await expect(wrong).rejects.toThrow(InvalidPayloadError);
    });
  });
}
