import { DelayQueueDashboardModule } from 'nestjs-delay-queue/dashboard';
import { expect, it } from 'vitest';
import { request, serveApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { classIn } from '../../support/docs/run-block.js';

const NIGHT_SHIFT = { email: 'ann@example.com', isOnCall: true };

export function dashboard(document: DrivenDocument): void {
  document.drive('Add it to your application #1', (run) => {
    it('lets in who belongs to the staff, by what they may do', async () => {
      let user: typeof NIGHT_SHIFT | undefined = NIGHT_SHIFT;
      const declared = await run({ staffOf: () => user });
      const AppModule = classIn(declared, 'AppModule');
      const imports = Reflect.getMetadata('imports', AppModule) as { module: unknown }[];
      const { url } = await serveApplication({
        imports: imports.filter(({ module }) => module === DelayQueueDashboardModule) as never[],
      });

      expect(await (await request(`${url}/queues/api/session`)).json()).toMatchObject({
        actor: 'ann@example.com',
        actions: expect.arrayContaining(['purge']),
      });
      user = { email: 'kim@example.com', isOnCall: false };
      expect(await (await request(`${url}/queues/api/session`)).json()).toMatchObject({
        actor: 'kim@example.com',
        actions: [],
      });
      user = undefined;
      expect((await request(`${url}/queues/api/session`)).status).toBe(403);
    });
  });
}
