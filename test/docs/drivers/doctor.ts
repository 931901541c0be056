import { Redis } from 'ioredis';
import { expect, it, vi } from 'vitest';
import { onOwnRedis } from '../../support/app/bed.js';
import { bootApplication } from '../../support/docs/application.js';
import type { DrivenDocument } from '../../support/docs/driven-document.js';
import { codeBlocks, readDocument } from '../../support/docs/markdown.js';

export function doctor(document: DrivenDocument): void {
  document.drive('Doctor #1', (run) => {
    it('prints what the document shows', async () => {
      await onOwnRedis(async ({ connection: { host, port } }) => {
        const redis = new Redis({ host, port });
        await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
        redis.disconnect();
        vi.stubEnv('REDIS_URL', `redis://${host}:${port}`);
        const log = vi.spyOn(console, 'log').mockReturnValue();

        await run();

        const lines = log.mock.calls.flatMap(([line]) =>
          String(line).replace(`${host}:${port}`, 'redis.example.com:6379'),
        );
        expect(lines.join('\n')).toBe(shown());
      });
    });
  });

  document.drive('Doctor #2', (run) => {
    it('finds no error in memory', async () => {
      const { admin } = await bootApplication();
      const log = vi.spyOn(console, 'log').mockReturnValue();

      await run({ admin });

      expect(log.mock.calls).toEqual([[[]]]);
    });
  });
}

/** The output in the document. */
function shown(): string | undefined {
  return codeBlocks(readDocument('docs/reference/doctor.md')).find(({ language }) => language === 'text')?.code;
}
