import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';
import { type Declared, classIn } from '../../support/docs/run-block.js';

interface Reports {
  subscribe(customer: number): unknown;
  unsubscribe(customer: number): unknown;
}

/** A Monday, an hour before any report in Berlin. */
const START = new Date('2026-01-05T04:00:00Z');

/** What is sent on the first day by a fleet in which all is done once. */
const DAY = ['report', 'feed', 'digest 7', 'feed', 'feed'];

/** What the mails of some applications have sent since this was called. */
function watchMails(apps: readonly INestApplicationContext[], declared: Declared): string[] {
  const sent: string[] = [];
  for (const app of apps) {
    const mails = app.get<{ send(text: string): Promise<void> }>(classIn(declared, 'Mails'));
    vi.spyOn(mails, 'send').mockImplementation(async (text) => void sent.push(text));
  }
  return sent;
}

export function fromNestjsSchedule(document: DrivenDocument): void {
  document.drive('The application before #1', (run: Run) => {
    it('sends each report once in each process, and none of those that come while there is none', async () => {
      vi.useFakeTimers({ now: START });
      onTestFinished(() => void vi.useRealTimers());
      const declared = await run();
      const boot = async (): Promise<INestApplicationContext> =>
        NestFactory.createApplicationContext(classIn(declared, 'AppModule'), { logger: false });
      const apps = [await boot(), await boot()];
      const sent = watchMails(apps, declared);
      apps[0]?.get<Reports>(classIn(declared, 'Reports')).subscribe(7);
      await vi.advanceTimersByTimeAsync(23 * 3_600_000);
      expect(sent.filter((text) => text === 'warm')).toHaveLength(2);
      expect(sent.filter((text) => text === 'report')).toHaveLength(2);
      expect(sent.filter((text) => text === 'feed')).toHaveLength(6);
      expect(sent.filter((text) => text === 'digest 7')).toHaveLength(1);
      apps[0]?.get<Reports>(classIn(declared, 'Reports')).unsubscribe(7);
      await Promise.all(apps.map((app) => app.close()));

      await vi.advanceTimersByTimeAsync(3 * 3_600_000);
      const later = await boot();
      const sentLater = watchMails([later], declared);
      await vi.advanceTimersByTimeAsync(3_600_000);
      expect(sentLater).toEqual(['warm']);
      await later.close();
    });
  });

  document.drive('The application after #1', (run: Run) => {
    it('sends each report once by the fleet, and makes up for the one that comes while there is no process', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout'], now: START });
      onTestFinished(() => void vi.useRealTimers());
      const declared = await run();
      vi.useRealTimers();
      const harness = new DelayQueueHarness({ now: START });
      const boot = async () => bootApplication({ imports: [classIn(declared, 'AppModule')] }, harness);
      const apps = [await boot(), await boot()];
      const sent = watchMails(
        apps.map(({ app }) => app),
        declared,
      );
      await apps[0]?.app.get<Reports>(classIn(declared, 'Reports')).subscribe(7);
      await harness.advance('23h');
      expect(sent).toEqual(DAY);
      await apps[1]?.app.get<Reports>(classIn(declared, 'Reports')).unsubscribe(7);
      await Promise.all(apps.map(({ app }) => app.close()));

      await harness.advance('3h');
      const later = await boot();
      const sentLater = watchMails([later.app], declared);
      await harness.advance('1s');
      expect(sentLater).toContain('report');
      await harness.advance('3d');
      expect(sentLater).not.toContain('digest 7');
    });
  });
}
