import { DelayedHandler, DelayQueueSchedules } from 'nestjs-delay-queue';
import { Injectable } from '@nestjs/common';
import { expect, it, vi } from 'vitest';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';

export function schedules(document: DrivenDocument): void {
  document.drive('Cron or interval with a handler #1', (run) => {
    it('sends each report at six in Berlin, whatever the clocks do', async () => {
      const log = vi.spyOn(console, 'log').mockReturnValue();
      const declared = await run();
      const { harness } = await bootApplication({ providers: [classIn(declared, 'Reports')] });
      await harness.advance('365d');

      const times = log.mock.calls.map(([line]) => String(line).replace('The report of ', ''));
      expect(times).toHaveLength(365);
      const berlin = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'medium' });
      expect(new Set(times.map((time) => berlin.format(new Date(time))))).toEqual(new Set(['06:00:00']));
      expect(new Set(times.map((time) => time.slice(10)))).toEqual(new Set(['T05:00:00.000Z', 'T04:00:00.000Z']));
    });
  });

  document.drive('Create a schedule at run time #1', (run) => {
    it('knows the next time, and goes on after a pause', async () => {
      const digests: unknown[] = [];
      @Injectable()
      class Digests {
        @DelayedHandler('digest')
        send(payload: unknown): void {
          digests.push(payload);
        }
      }
      const { app, harness } = await bootApplication({ providers: [Digests] });
      const declared = await run({ schedules: app.get(DelayQueueSchedules) });
      await harness.advance('7d');

      expect((declared as { next: Date }).next.toISOString()).toMatch(/T13:30:00\.000Z$/);
      expect(digests).toEqual(Array.from({ length: 5 }, () => ({ customer: 7 })));
    });
  });

  document.drive('One message at a local time #1', (run) => {
    it('is due then, when the clocks have just gone forward', async () => {
      const { harness, producer } = await bootApplication();
      await run({ producer });

      expect(harness.scheduled('party.invite')).toMatchObject([{ dueAt: new Date('2027-03-28T16:00:00Z') }]);
    });
  });
}
