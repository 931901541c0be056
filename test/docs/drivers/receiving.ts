import { DelayQueueAdmin, DelayQueueReceiver } from 'nestjs-delay-queue';
import { expect, it, vi } from 'vitest';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';

export function receiving(document: DrivenDocument): void {
  document.drive('Receive and settle #1', (run) => {
    it('prints what can be printed, and the rest comes again', async () => {
      const { app, producer } = await bootApplication();
      for (const id of ['1', '2', '3']) await producer.publish('invoice.print', id, { id });
      const printed: unknown[] = [];
      const print = async (payload: unknown): Promise<void> => {
        if (payload === '2') throw new Error('paper jam');
        printed.push(payload);
      };
      await run({ receiver: app.get(DelayQueueReceiver), print });

      expect(printed.map(String).toSorted((a, b) => Number(a) - Number(b))).toEqual(['1', '3']);
      expect(await app.get(DelayQueueAdmin).get('invoice.print', '2')).toMatchObject({
        state: 'scheduled',
        failure: { message: 'paper jam' },
      });
    });
  });

  document.drive('Receive and settle #2', (run) => {
    it('takes what is urgent first', async () => {
      const { app, producer } = await bootApplication();
      await producer.publish('invoice.print', 1);
      await producer.publish('invoice.urgent', 2);
      await run({ receiver: app.get(DelayQueueReceiver) });

      const admin = app.get(DelayQueueAdmin);
      expect([(await admin.stats('invoice.urgent')).inFlight, (await admin.stats('invoice.print')).inFlight]).toEqual([
        1, 0,
      ]);
    });
  });

  document.drive('Settle elsewhere #1', (run) => {
    it('settles receipts, whoever has received them', async () => {
      const log = vi.spyOn(console, 'log').mockReturnValue();
      const { app, producer } = await bootApplication();
      const receiver = app.get(DelayQueueReceiver);
      for (const id of ['1', '2']) await producer.publish('invoice.print', id, { id });
      const received = await receiver.receive('invoice.print', { max: 2, wait: 0 });
      const [receipt, other] = received.map((message) => message.receipt);
      await run({ receiver, receipt: receipt as string, other: other as string });

      expect(log.mock.calls).toEqual([['settled']]);
      expect(await app.get(DelayQueueAdmin).get('invoice.print', received[1]?.id as string)).toMatchObject({
        failure: { message: 'printer is out of paper' },
      });
    });
  });

  document.drive('Settle elsewhere #2', (run) => {
    it('can be asked for again', async () => {
      const { app, producer } = await bootApplication();
      const receiver = app.get(DelayQueueReceiver);
      await producer.publish('invoice.print', 1);
      const [message] = await receiver.receive('invoice.print', { wait: 0 });
      const receipt = message?.receipt as string;
      await run({ receiver, third: receipt, requestId: 'r' });

      expect(await receiver.settleMany([{ receipt, outcome: 'ack' }], { once: 'r' })).toEqual(['settled']);
      expect(await receiver.settle(receipt, 'ack')).toBe('stale');
    });
  });
}
