import { Injectable } from '@nestjs/common';
import { DelayedHandler, UnrecoverableError } from 'nestjs-delay-queue';
import { expect, it, vi } from 'vitest';
import { onOwnRedis } from '../../support/app/bed.js';
import { Gate } from '../../support/waiting.js';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';

/** Orders hang, but for the hopeless one, which cannot be handled. */
@Injectable()
class Orders {
  readonly begun = new Gate();
  readonly end = new Gate();

  @DelayedHandler('order.timeout')
  async onTimeout(order: string): Promise<void> {
    if (order === 'hopeless') throw new UnrecoverableError('There is no such order');
    this.begun.open();
    await this.end.opened;
  }
}

export function administration(document: DrivenDocument): void {
  document.drive('Administration #1', (run) => {
    it('shows what each topic holds, without a Nest application, and ends', async () => {
      // The block has the default prefix.
      await onOwnRedis(async (own) => {
        const app = await own.start({ providers: [Orders], options: { prefix: 'dq' } });
        await app.producer.publish('order.timeout', 'slow');
        await app.get(Orders).begun.opened;
        await app.producer.publish('order.timeout', 'hopeless');
        await app.events.dead.first();
        await app.producer.publish('order.timeout', 'later', { delay: '1h' });
        const { dueAt } = await app.producer.publish('audit', 'nobody handles this');
        const log = vi.spyOn(console, 'log').mockReturnValue();
        const warn = vi.spyOn(console, 'warn').mockReturnValue();
        const { host, port } = own.connection;
        vi.stubEnv('REDIS_URL', `redis://${host}:${port}`);

        await run();

        expect(log.mock.calls).toEqual([
          [`Connected to Redis at ${host}:${port}`],
          ['audit', { scheduled: 1, due: 1, inFlight: 0, dead: 0, oldestDueAt: dueAt }],
          ['order.timeout', { scheduled: 1, due: 0, inFlight: 1, dead: 1, oldestDueAt: undefined }],
        ]);
        // Its `log` is the console, and this Redis keeps nothing on disk.
        expect(warn.mock.calls).toEqual([[expect.stringContaining('keeps nothing on disk')]]);
        app.get(Orders).end.open();
      });
    });
  });

  document.drive('Change messages and topics #1', (run) => {
    it('cancels a message, and says who has done it', async () => {
      const { admin, producer } = await bootApplication();
      await producer.publish('order.timeout', 'later', { id: '42', delay: '1h' });

      await run({ admin });

      expect(await admin.get('order.timeout', '42')).toBeUndefined();
      expect((await admin.audit()).entries).toMatchObject([{ actor: 'ann@example.com', given: { id: '42' } }]);
    });
  });

  document.drive('Inspect a topic #1', (run) => {
    it('counts the messages, and tells why one of them is dead', async () => {
      const { admin, harness, producer } = await bootApplication({ providers: [Orders] });
      await producer.publish('order.timeout', 'hopeless', { id: '42' });
      await harness.settle();
      const { dueAt } = await producer.publish('order.timeout', 'later', { id: '43', delay: '30m' });
      const log = vi.spyOn(console, 'log').mockReturnValue();

      await run({ admin });

      expect(log.mock.calls).toEqual([
        [1, 0, 0, 1, dueAt],
        ['unrecoverable', 'There is no such order'],
      ]);
    });
  });
}
