import { DelayQueueModule } from 'nestjs-delay-queue';
import { expect, it, vi } from 'vitest';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';

const TOPIC = 'survey.send';
const IMPORTS = [DelayQueueModule.forRoot({ consumer: false })];

export function tags(document: DrivenDocument): void {
  document.drive('Publish with tags #1', (run) => {
    it('publishes with tags', async () => {
      const { producer, admin } = await bootApplication({ imports: IMPORTS });
      await run({ producer });

      expect(await admin.get(TOPIC, 'survey-42')).toMatchObject({ tags: ['customer:7', 'order:42'] });
    });
  });

  document.drive('Cancel by tag #1', (run) => {
    it('cancels what carries the tag', async () => {
      const log = vi.spyOn(console, 'log').mockReturnValue();
      const { producer, harness } = await bootApplication({ imports: IMPORTS });
      for (let i = 0; i < 300; i++) {
        await producer.publish(TOPIC, i, { delay: '1d', tags: [`customer:${i % 3 === 0 ? 7 : 8}`] });
      }
      await run({ producer });

      expect(log.mock.calls).toEqual([['100 cancelled, 0 stopped']]);
      expect(harness.scheduled(TOPIC)).toHaveLength(200);
    });
  });

  document.drive('List by tag #1', (run) => {
    it('lists what carries the tag, page by page', async () => {
      const log = vi.spyOn(console, 'log').mockReturnValue();
      const { producer, admin } = await bootApplication({ imports: IMPORTS });
      const ids = Array.from({ length: 120 }, (_, i) => `survey-${String(i).padStart(3, '0')}`);
      for (const id of ids) await producer.publish(TOPIC, null, { id, delay: '1d', tags: ['customer:7'] });
      await producer.publish(TOPIC, null, { delay: '1d', tags: ['customer:8'] });
      await run({ admin });

      expect(log.mock.calls).toEqual(ids.map((id) => [id, expect.any(Date), ['customer:7']]));
    });
  });

  document.drive('Reschedule or run messages by tag #1', (run) => {
    it('counts what carries the tag', async () => {
      const log = vi.spyOn(console, 'log').mockReturnValue();
      const { producer, admin } = await bootApplication({ imports: IMPORTS });
      await producer.publish(TOPIC, null, { delay: '1d', tags: ['customer:7'] });
      await producer.publish(TOPIC, null, { delay: '1d', tags: ['customer:8'] });
      await run({ admin });

      expect(log.mock.calls).toEqual([['1 would wait for 30 days']]);
    });
  });
}
