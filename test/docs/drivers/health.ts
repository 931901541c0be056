import type { HealthCheckResult } from '@nestjs/terminus';
import { expect, it } from 'vitest';
import { request, serveApplication } from '../support/application.js';
import type { DrivenDocument } from '../support/driven-document.js';
import { classIn } from '../support/run-block.js';

export function health(readme: DrivenDocument): void {
  readme.drive('Health #1', (run) => {
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
