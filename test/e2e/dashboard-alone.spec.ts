import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { createDelayQueueAdmin } from 'nestjs-delay-queue';
import type { DoctorReport } from 'nestjs-delay-queue/admin';
import { describe, expect, it, vi } from 'vitest';
import { ANSWER_WITHOUT_REDIS, READING_ROUTES } from '../../lib/dashboard/reading.routes.js';
import { serveDashboard } from '../../lib/dashboard/serve-dashboard.js';
import { useBed } from '../support/app/bed.js';
import { OWN_HEADERS, WatchedLooks } from '../support/app/dashboard.js';
import { LogBook } from '../support/app/log-book.js';
import { startRedis } from '../support/servers/redis-server.js';

const bed = useBed();

/** `fetch` sends the host of the URL. */
async function statusFor(url: string, host: string): Promise<number | undefined> {
  const [response] = (await once(request(url, { headers: { host } }).end(), 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

describe('serveDashboard()', () => {
  it('looks ahead, and serves this machine alone, with the token, and only reads unless it may operate', async () => {
    const log = new LogBook();
    const admin = await createDelayQueueAdmin({ redis: bed.connection, prefix: bed.prefix, log });
    const queues = { admin, schedules: admin.schedules, events: admin.events };
    const counting = vi.spyOn(admin, 'statsOf');
    const served = await serveDashboard({ queues, port: 0, operate: false, log });
    try {
      await served.lookAhead();
      expect(counting).toHaveBeenCalledTimes(1);
      expect(new URL(served.url).hostname).toBe('127.0.0.1');
      expect(await (await fetch(`${served.url}api/session`)).json()).toMatchObject({ actions: [], payloads: true });
      for (const path of ['/', '/api/session', '/wrong/api/session']) {
        expect((await fetch(new URL(path, served.url))).status).toBe(401);
      }
      // A name of another site that leads to this machine, as a browser would send it.
      expect(await statusFor(`${served.url}api/session`, 'evil.example')).toBe(403);
      expect(await statusFor(`${served.url}api/session`, new URL(served.url).host)).toBe(200);
      const body = JSON.stringify({ topic: 'jobs' });
      const refused = await fetch(`${served.url}api/pause`, { method: 'POST', headers: OWN_HEADERS, body });
      expect(refused.status).toBe(403);
    } finally {
      await served.close();
      await admin.close();
    }
  });

  it('answers soon without Redis, says why it is away, and goes on by itself once it is back', async () => {
    const log = new LogBook();
    const redis = await startRedis(['--user', 'ann', 'on', '>hunter2', '~*', '&*', '+@all']);
    // As long as no test waits.
    const options = { prefix: bed.prefix, timeout: 60_000, log };
    const admin = await createDelayQueueAdmin({ redis: `redis://ann:hunter2@127.0.0.1:${redis.port}`, ...options });
    await admin.schedules.upsert({ id: 'watched', topic: 'watched', payload: 1, every: '1h' });
    const queues = { admin, schedules: admin.schedules, events: admin.events };
    const served = await serveDashboard({ queues, port: 0, operate: false, log });
    const get = async (path: string): Promise<Response> => fetch(`${served.url}${path}`);
    const stream = new WatchedLooks(await get('api/watch?look=api/topic%3Ftopic%3Dwatched'));
    try {
      await stream.until(({ answer }) => answer !== undefined);
      await redis.kill();
      const away = {
        code: 'BROKER_UNAVAILABLE',
        message: expect.stringContaining(`connect ECONNREFUSED 127.0.0.1:${redis.port}`),
      };
      const asked = Object.keys(READING_ROUTES).filter((path) => path !== 'api/doctor');
      const answers = await Promise.all(
        asked.map(async (path) => {
          const response = await get(`${path}?topic=jobs&id=a&state=dead&span=60000&text=a`);
          return [path, response.status, await response.json()] as const;
        }),
      );
      const needRedis = answers.filter(([path]) => !ANSWER_WITHOUT_REDIS.has(path));
      expect(needRedis).toEqual(needRedis.map(([path]) => [path, 503, { error: away }]));
      expect(needRedis.length).toBeGreaterThan(10);
      const others = answers.filter(([path]) => ANSWER_WITHOUT_REDIS.has(path));
      expect(others.map(([path, status]) => [path, status])).toEqual([
        ['api/session', 200],
        ['api/operations', 200],
      ]);
      expect(await stream.until(({ error }) => error !== undefined)).toMatchObject({ error: away });
      expect(JSON.stringify([answers, stream.text])).not.toContain('hunter2');
      stream.text = '';
      await redis.start();
      // It is asked again, and has kept nothing.
      await stream.until(({ error }) => error?.code === 'NOT_FOUND');
    } finally {
      await stream.close();
      await served.close();
      await admin.close();
      await redis.stop();
    }
  });

  it('says what the doctor finds, if that is that Redis is away', async () => {
    const log = new LogBook();
    const redis = await startRedis();
    const admin = await createDelayQueueAdmin({ redis: redis.url, prefix: bed.prefix, timeout: 500, log });
    const queues = { admin, schedules: admin.schedules, events: admin.events };
    const served = await serveDashboard({ queues, port: 0, operate: false, log });
    try {
      await redis.kill();
      const { findings } = (await (await fetch(`${served.url}api/doctor`)).json()) as DoctorReport;
      expect(findings).toMatchObject([{ check: 'connection', level: 'error' }]);
    } finally {
      await served.close();
      await admin.close();
      await redis.stop();
    }
  });
});
