import { Injectable } from '@nestjs/common';
import { DelayedHandler, type PublishedMessage } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { type Application, bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';
import { MINUTE, START } from '../../support/kit/kit-bed.js';

type OnChange = (listId: string, change: string) => Promise<void>;

/** Minutes since the test began. */
function minutes({ harness }: Application): number {
  return (harness.now.getTime() - START.getTime()) / MINUTE;
}

/** Notes when reminders come, and for which change. */
async function bootReminders() {
  const reminders: (readonly [minutes: number, change: string])[] = [];
  @Injectable()
  class Reminders {
    @DelayedHandler('list.reminder')
    remind({ change }: { change: string }): void {
      reminders.push([minutes(application), change]);
    }
  }
  const application = await bootApplication({ providers: [Reminders] });
  return { application, reminders };
}

export function debounce(document: DrivenDocument): void {
  document.drive('Debounce: after the last change #1', afterTheLastChange);
  document.drive('Debounce: after the last change #2', reminding);

  document.drive('Throttle: after the first change #1', (run) => {
    it('leaves the message that waits alone', async () => {
      const { harness, producer } = await bootApplication();

      await run({ producer });

      expect(harness.published('list.opened')).toMatchObject([{ id: '42', delay: 10 * MINUTE }]);
    });
  });

  document.drive('Earliest due time wins #1', (run) => {
    it('is due when the most urgent one wants it', async () => {
      const { harness, producer } = await bootApplication();

      const declared = await run({ producer });

      const { daily, urgent, patient } = declared as Record<'daily' | 'urgent' | 'patient', PublishedMessage>;
      expect([daily, urgent, patient].map(({ duplicate }) => duplicate)).toEqual([false, true, true]);
      expect(urgent.dueAt).toEqual(new Date(START.getTime() + MINUTE));
      expect(patient.dueAt).toEqual(urgent.dueAt);
      expect(harness.scheduled('token.renew')).toMatchObject([{ id: 'shop', dueAt: urgent.dueAt }]);
    });
  });
}

function afterTheLastChange(run: Run): void {
  it('reminds of the last change, 10 minutes later', async () => {
    const { application, reminders } = await bootReminders();
    const { harness, producer } = application;
    const onChange = (await run({ producer }))['onChange'] as OnChange;
    for (const change of ['first', 'second', 'last']) {
      await onChange('42', change);
      await harness.advance('5m');
    }
    await harness.advance('1h');

    expect(reminders).toEqual([[20, 'last']]);
  });

  it('reminds an hour after the first change if the changes do not end, and begins a new hour', async () => {
    const { application, reminders } = await bootReminders();
    const { harness, producer } = application;
    const onChange = (await run({ producer }))['onChange'] as OnChange;
    for (let minute = 0; minute < 140; minute += 9) {
      await onChange('42', `at ${minute}`);
      await harness.advance('9m');
    }
    await harness.advance('1h');

    // The 63rd minute has the first change behind the first reminder.
    expect(reminders).toEqual([
      [60, 'at 54'],
      [123, 'at 117'],
      [145, 'at 135'],
    ]);
  });
}

function reminding(run: Run): void {
  it('sends what the last change was', async () => {
    const sent: string[] = [];
    @Injectable()
    class AlertService {
      async send(text: string): Promise<void> {
        sent.push(text);
      }
    }
    const reminders = classIn(await run({ AlertService }), 'Reminders');
    const { harness, producer } = await bootApplication({ providers: [AlertService, reminders] });
    await producer.publish('list.reminder', { listId: '42', change: 'milk' });
    await harness.settle();

    expect(sent).toEqual(['List 42 was changed, last: milk']);
  });
}
