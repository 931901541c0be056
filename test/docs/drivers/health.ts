import { Injectable } from '@nestjs/common';
import type { HealthCheckResult } from '@nestjs/terminus';
import { DelayedHandler, DelayQueueHealth } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { onOwnRedis } from '../../support/app/bed.js';
import { request, serveApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';

@Injectable()
class Orders {
  @DelayedHandler('order.timeout')
  onTimeout(): void {}
}

const OPTIONS = { defaults: { partitions: 2 } };

export function health(document: DrivenDocument): void {
  document.drive('Check health #1', (run) => {
    it('tells that all is well', async () => {
      await onOwnRedis(async (own) => {
        const app = await own.start({ providers: [Orders], options: OPTIONS });
        const report = await run({ health: app.get(DelayQueueHealth) });

        expect(report).toMatchObject({
          status: 'up',
          problems: [],
          connection: { status: 'up', roundTrip: expect.any(Number), signals: 'up' },
          topics: [{ topic: 'order.timeout', owned: [0, 1], unowned: [], unreachable: [], paused: false }],
        });
        expect(Math.abs(report['clockOffset'] as number)).toBeLessThan(1000);
      });
    });

    it('tells a process that only publishes that nobody handles its topic', async () => {
      await onOwnRedis(async (own) => {
        const options = { consumer: false, topics: { 'order.timeout': { partitions: 2 } } } as const;
        const app = await own.start({ options });

        expect(await run({ health: app.get(DelayQueueHealth) })).toMatchObject({
          status: 'degraded',
          problems: ["Topic 'order.timeout': no process owns partitions 0, 1"],
          topics: [{ owned: [], unowned: [0, 1] }],
        });
      });
    });

    it('tells within its timeout that Redis does not answer, and does not reject', async () => {
      await onOwnRedis(async (own) => {
        const app = await own.start({ providers: [Orders], options: OPTIONS });
        await own.redis.client('PAUSE', 2500);
        const begin = performance.now();

        const report = await run({ health: app.get(DelayQueueHealth) });

        // Longer than its second: the block is compiled first.
        expect(performance.now() - begin).toBeLessThan(2000);
        expect(report).toMatchObject({ status: 'down', connection: { status: 'down', error: expect.any(String) } });
        expect(report['problems']).not.toEqual([]);
      });
    });
  });

  document.drive('Terminus #1', (run) => {
    it('answers requests with the health of the queue', async () => {
      const { url } = await serveApplication({ imports: [classIn(await run(), 'HealthModule')] });
      const response = await request(`${url}/health`);

      expect(response.status).toBe(200);
      expect((await response.json()) as HealthCheckResult).toMatchObject({
        status: 'ok',
        details: { 'delay-queue': { status: 'up', problems: [], connection: { status: 'up' } } },
      });
    });
  });
}
