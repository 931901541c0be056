import { DelayedHandler, UnrecoverableError, topic } from 'nestjs-delay-queue';
import { Injectable, type Provider } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useBed } from '../support/app/bed.js';
import { Jobs } from '../support/app/jobs.js';
import { eventually } from '../support/waiting.js';

const SECRET = 'payload-that-is-nobodys-business';

const bed = useBed();

const orders = topic('orders', { schema: z.object({ state: z.enum(['open', 'closed']) }) });

@Injectable()
class Orders {
  @DelayedHandler(orders)
  handle(): void {}
}

function start(providers: Provider[] = [Jobs]) {
  return bed.start({
    providers,
    options: { defaults: { partitions: 4, backoff: { type: 'fixed', delay: 10 } }, consumer: { maxIdleWait: 200 } },
  });
}

/** The log lines about this library, without the warnings about the test's server. */
function linesOf({ logs }: { logs: { lines: readonly string[] } }): string[] {
  return logs.lines.filter((line) => line.includes(' DelayQueue: ') && !line.startsWith('warn'));
}

/** Wakes the application as another process would: with sharded pub/sub on Redis 7 and newer. */
async function signal(channel: string, message: string): Promise<void> {
  await bed.redis.publish(channel, message);
}

async function pause(paused: boolean): Promise<void> {
  for (let index = 0; index < 4; index++) {
    const partition = bed.partition('jobs', index);
    await (paused
      ? bed.redis.hset(partition.key('meta'), 'paused', '1')
      : bed.redis.hdel(partition.key('meta'), 'paused'));
    await signal(partition.key('signals'), 'due 0');
  }
}

/** Simulates another process that handles the same topics, since Nest has one logger for all applications of a process. */
async function join(session: string): Promise<void> {
  const [digest] = await bed.redis.hkeys(`{${bed.prefix}:fleet}:handled`);
  await setSession(session, `1 ${Date.now()} 60000 ${digest}`);
}

async function leave(session: string): Promise<void> {
  const record = await bed.redis.hget(`{${bed.prefix}:fleet}:sessions`, session);
  await setSession(session, `${record} left`);
}

async function setSession(session: string, record: string): Promise<void> {
  await bed.redis.hset(`{${bed.prefix}:fleet}:sessions`, session, record);
  await signal(`{${bed.prefix}:fleet}:signals`, '{"kind":"changed"}');
}

describe('the log of an application', () => {
  it('has a line for each change of its life, in one context', async () => {
    const app = await start();
    const { host, port } = bed.connection;
    const jobs = app.get(Jobs);
    jobs.respond = (_payload, { id, attempt }) => {
      if (id === 'failing' && attempt === 1) throw new Error('once\nsecond line');
      if (id === 'bad') throw new UnrecoverableError('never');
    };
    await app.producer.publishMany(
      'jobs',
      Array.from({ length: 100 }, () => ({ payload: SECRET })),
    );
    await app.events.acked.take(100);
    await app.producer.publish('jobs', SECRET, { id: 'failing' });
    await app.events.acked.first(({ id }) => id === 'failing');
    await app.producer.publish('jobs', SECRET, { id: 'bad' });
    await app.events.dead.first();
    await join('another');
    await eventually(() => expect(app.logs.infos.at(-1)).toMatch(/^Owns 2 of 4/));
    const [, moved] = /: (.*)/.exec(app.logs.infos.at(-1) ?? '') ?? [];
    await leave('another');
    await eventually(() => expect(app.logs.infos.at(-1)).toMatch(/^Owns 4 of 4/));
    await pause(true);
    await eventually(() => expect(app.logs.infos.at(-1)).toContain('paused'));
    await pause(false);
    await eventually(() => expect(app.logs.infos.at(-1)).toContain('goes on'));
    await app.close();

    const lines = linesOf(app);
    const last = lines.pop();
    expect(last).toMatch(/^log DelayQueue: Shut down after \d+ ms$/);
    expect(lines).toEqual(
      [
        `log Connected to Redis at ${host}:${port}`,
        `log Jobs.work handles topic 'jobs'`,
        `log Owns 4 of 4 partitions of topic 'jobs': 0-3`,
        `debug Attempt 1 of message 'failing' of topic 'jobs' in Jobs.work failed and is repeated in 10 ms: Error: once`,
        `error Message 'bad' of topic 'jobs' is dead (unrecoverable) in Jobs.work: UnrecoverableError: never`,
        `log Owns 2 of 4 partitions of topic 'jobs': ${moved}`,
        `log Owns 4 of 4 partitions of topic 'jobs': 0-3`,
        `log Topic 'jobs' is paused`,
        `log Topic 'jobs' goes on`,
        `log Shuts down; handler calls that run: 0`,
      ].map((line) => line.replace(' ', ' DelayQueue: ')),
    );
    expect(app.logs.lines.filter((line) => line.includes(SECRET))).toEqual([]);
  });

  it('has one line for each dead letter, without what was stored', async () => {
    const app = await start([Orders]);
    await app.producer.publish('orders', { state: SECRET }, { id: 'invalid' });
    await app.producer.publish('orders', 1, { id: 'undecodable', delay: 100 });
    for (let index = 0; index < 4; index++) {
      const key = bed.partition('orders', index).key('messages');
      if (await bed.redis.hexists(key, 'undecodable')) await bed.redis.hset(key, 'undecodable', SECRET);
    }
    await app.events.dead.take(2);

    expect(app.logs.errors).toEqual([
      "Message 'invalid' of topic 'orders' is dead (invalid) in Orders.handle: InvalidPayloadError",
      "Message 'undecodable' of topic 'orders' is dead (undecodable) in Orders.handle: SerializationError",
    ]);
    expect(app.logs.lines.filter((line) => line.includes(SECRET))).toEqual([]);
  });

  it('does not mention a shutdown if nothing is being handled', async () => {
    const app = await bed.start({ options: { consumer: false } });
    await app.close();
    expect(linesOf(app)).toEqual([expect.stringMatching(/Connected to Redis/)]);
  });
});
