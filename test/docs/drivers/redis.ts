import { Test } from '@nestjs/testing';
import { Cluster, type Redis } from 'ioredis';
import { DelayQueueAdmin } from 'nestjs-delay-queue';
import { expect, it, onTestFinished, vi } from 'vitest';
import { LogBook } from '../../support/app/log-book.js';
import { clientOf, modulesMade } from '../../support/docs/application.js';
import type { DrivenDocument, Run } from '../../support/docs/driven-document.js';

export function redis(document: DrivenDocument): void {
  document.drive('Connect to Redis #1', whichRedis);
  document.drive('Without a server #1', withoutServer);
}

function withoutServer(run: Run): void {
  it('boots without a server where none is named', async () => {
    vi.stubEnv('REDIS_URL', undefined);
    const imports = await modulesMade(run);
    vi.unstubAllEnvs();
    const app = await Test.createTestingModule({ imports }).setLogger(new LogBook()).compile();
    onTestFinished(() => app.close());

    const [finding] = (await (await app.init()).get(DelayQueueAdmin).doctor()).findings;
    expect(finding?.message).toContain('there is no Redis');
  });
}

function whichRedis(run: Run): void {
  const forms = ['a URL', 'options', 'Sentinel', 'a cluster', 'a template'] as const;

  async function clients(): Promise<Record<(typeof forms)[number], Redis | Cluster>> {
    const modules = await modulesMade(run);
    expect(modules).toHaveLength(forms.length);
    const opened = await Promise.all(modules.map(async (module) => clientOf([module])));
    return Object.fromEntries(forms.map((form, i) => [form, opened[i]])) as Awaited<ReturnType<typeof clients>>;
  }

  it('has a client that would connect to the right server', async () => {
    const client = await clients();

    expect(client['a URL'].options).toMatchObject({
      host: 'redis.example.com',
      port: 6380,
      username: 'user',
      password: 'secret',
      db: 0,
      tls: {},
    });
    expect(client['options'].options).toMatchObject({ host: 'redis.example.com', port: 6379, password: 'secret' });
    expect(client['Sentinel'].options).toMatchObject({
      name: 'mymaster',
      sentinels: [{ host: 'sentinel-1.example.com', port: 26379 }],
    });
    expect(client['a cluster']).toBeInstanceOf(Cluster);
    expect(client['a cluster']).toMatchObject({
      startupNodes: [{ host: 'node-1.example.com', port: 6379 }],
      options: { redisOptions: { password: 'secret' } },
    });
    expect(client['a template'].options).toMatchObject({ host: 'localhost', port: 6379 });
    expect(Object.values(client).map(({ status }) => status)).toEqual(forms.map(() => 'wait'));
  });
}
