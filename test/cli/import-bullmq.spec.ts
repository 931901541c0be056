import { FlowProducer } from 'bullmq';
import { describe, expect, inject, it } from 'vitest';
import { connectionTo, useBullBed } from '../support/bullmq/bull-bed.js';
import { TOPIC, useCliBed } from '../support/cli/cli-bed.js';
import { type Outcome, runInProcess } from '../support/cli/run-in-process.js';

const bed = useCliBed('test', async (filled) => filled.publish([{ payload: {}, options: { id: '1', delay: '1h' } }]));
const bull = useBullBed();

const text = (pattern: RegExp): string => expect.stringMatching(pattern) as string;

async function run(...more: readonly string[]): Promise<Outcome> {
  return runInProcess(['import-bullmq', bull.name, '--to', TOPIC, ...more], { env: bed.env });
}

/** An id that no message can have. */
const long = (n: number): string => `${n}`.padEnd(300, 'x');

async function json(...more: readonly string[]): Promise<{ code: number; report: Record<string, unknown> }> {
  const { code, stdout } = await run('--yes', '--json', ...more);
  return { code, report: JSON.parse(stdout) as Record<string, unknown> };
}

describe('import-bullmq', () => {
  it('moves delayed jobs with their due times, data, names, attempts and backoff', async () => {
    const due = Date.now() + 3_600_000;
    const backoff = { type: 'exponential', delay: 2000 };
    await bull.add(
      { name: 'mail', data: { to: 'Ada' }, opts: { jobId: 'mail-1', attempts: 4, backoff } },
      { opts: { backoff: 500, priority: 3 } },
      { opts: { jobId: 'custom', backoff: { type: 'mine', delay: 5 }, deduplication: { id: 'once' } } },
    );
    // As a job that has failed twice and waits for its third attempt.
    await bull.redis.hset(bull.key('mail-1'), 'atm', 2);
    const { code, stdout } = await run('--yes');
    expect([code, stdout]).toEqual([0, text(/^taken +3 jobs, of them 0 by an earlier run\npublished +3$/m)]);
    expect(stdout).toMatch(/^1 job with a custom backoff: give it to the handler/m);
    expect(stdout).toMatch(/^1 job with a priority, which a message has not/m);

    const mail = await bed.admin.get(TOPIC, 'mail-1');
    expect(mail).toMatchObject({ payload: { to: 'Ada' }, raw: text(/8000/) });
    expect(mail?.headers).toEqual({
      'bullmq-queue': bull.name,
      'bullmq-name': 'mail',
      'bullmq-id': 'mail-1',
      'bullmq-timestamp': text(/^\d{13}$/),
      'bullmq-attempts-made': '2',
    });
    expect(Math.abs((mail?.at.getTime() ?? 0) - due)).toBeLessThan(10_000);
    // A number says nothing without its queue.
    expect(await bed.admin.get(TOPIC, `${bull.name}:2`)).toMatchObject({ state: 'scheduled' });
    expect(await bull.queue.getJobCounts('delayed')).toEqual({ delayed: 0 });
    expect(await bull.redis.keys(bull.key('*'))).not.toContain(bull.key('mail-1'));
    expect(await bull.redis.exists(bull.key('de:once'))).toBe(0);
  });

  it('counts with --dry-run, and asks before anything is moved', async () => {
    await bull.add({}, {});
    const { code, report } = await json('--dry-run');
    expect([code, report]).toMatchObject([0, { dryRun: true, matched: 2, resumed: 0, left: { delayed: 2, open: 0 } }]);
    expect(await run()).toMatchObject({
      code: 4,
      stderr: text(/takes about 2 jobs out of BullMQ's queue '.*There is no terminal to ask on/),
    });
    expect((await bed.admin.stats(TOPIC)).scheduled).toBe(1);
    expect(await bull.redis.keys(bull.key('delay-queue-import*'))).toEqual([]);
  });

  it('leaves flows, schedulers and what is too large, and says what to do', async () => {
    const flows = new FlowProducer({ connection: connectionTo(inject('redisUrl')) });
    const child = { name: 'child', queueName: bull.name, opts: { delay: 3_600_000 } };
    await flows.add({ name: 'parent', queueName: bull.name, children: [child] });
    await flows.close();
    const template = { name: 'daily', data: { list: 'all' } };
    await bull.queue.upsertJobScheduler('report', { pattern: '0 6 * * *', tz: 'Europe/Berlin' }, template);
    await bull.queue.upsertJobScheduler('feed', { every: 600_000, startDate: Date.now() + 3_600_000 });
    await bull.add({ data: { text: 'x'.repeat(1024 * 1024) } }, { opts: { jobId: 'fine' } });
    const { code, stdout } = await run('--yes');
    expect([code, stdout]).toEqual([0, text(/^published +1$/m)]);
    expect(stdout).toMatch(/^in BullMQ +delayed 4, waiting 0, active 0, waiting for children 1$/m);
    expect(stdout).toMatch(/^1 job of flows: let BullMQ finish them/m);
    expect(stdout).toMatch(/^1 job with more data than a message can have/m);
    expect(stdout).toMatch(/^2 job schedulers, which this does not move/m);
    const payload = '"payload":{"list":"all"}';
    const rule = '"cron":"0 6 * * *","timeZone":"Europe/Berlin"';
    expect(stdout).toContain(`  await schedules.upsert({"id":"report","topic":"${TOPIC}",${payload},${rule}});`);
    expect(stdout).toContain('"every":600000}');
    expect(await bull.queue.getJobCounts('delayed')).toEqual({ delayed: 4 });
  });

  it('moves what waits with --waiting, due at once, and jobs by their names with --job', async () => {
    await bull.queue.addBulk([
      { name: 'a', data: {}, opts: { jobId: 'waits', delay: 0 } },
      { name: 'mail', data: {}, opts: { jobId: 'prior', priority: 5, delay: 0 } },
    ]);
    await bull.add({ name: 'mail', opts: { jobId: 'later' } });
    const { code, report } = await json('--waiting', '--job', 'mail=mails', '--create', '--rate', '1000');
    expect([code, report]).toMatchObject([
      0,
      { total: { taken: 3, published: 3 }, complete: true, left: { waiting: 0 } },
    ]);
    expect((await bed.admin.get(TOPIC, 'waits'))?.at.getTime()).toBeLessThan(Date.now() + 1000);
    expect((await bed.admin.get('mails', 'prior'))?.at.getTime()).toBeLessThan(Date.now() + 1000);
    expect(await bed.admin.get('mails', 'later')).toMatchObject({ state: 'scheduled' });
  });

  it('reads the jobs of Bull 4 and of a cron that is in a key', async () => {
    const due = Date.now() + 60_000;
    await bull.redis.hset(bull.key('7'), {
      name: '__default__',
      data: '{"a":1}',
      opts: '{"attempts":3,"delay":60000,"timestamp":1,"timeout":5000,"backoff":{"type":"fixed","delay":100}}',
      timestamp: '1',
      delay: '60000',
      priority: '0',
    });
    await bull.redis.zadd(bull.key('delayed'), due * 0x1000 + 7, '7');
    await bull.redis.zadd(bull.key('repeat'), due, '__default__:::Europe/Berlin:15 3 * * *');
    const { report } = await json();
    expect(report).toMatchObject({
      total: { published: 1 },
      schedulers: { total: 1, listed: [{ name: '__default__', cron: '15 3 * * *', timeZone: 'Europe/Berlin' }] },
    });
    expect(await bed.admin.get(TOPIC, `${bull.name}:7`)).toMatchObject({ at: new Date(due), payload: { a: 1 } });
  });

  it('drops a job whose id the topic has, and gives back one that another queue has brought there', async () => {
    const headers = { 'bullmq-queue': 'another' };
    await bed.publish([
      { payload: {}, options: { id: 'ours', delay: '1h' } },
      { payload: {}, options: { id: 'theirs', delay: '1h', headers } },
    ]);
    await bull.add({ opts: { jobId: 'ours' } }, { opts: { jobId: 'theirs' } }, { opts: { jobId: 'x'.repeat(300) } });
    const before = await bull.redis.zscore(bull.key('delayed'), 'theirs');
    const { code, report } = await json();
    expect([code, report]).toMatchObject([
      1,
      { total: { taken: 3, published: 0, duplicates: 1, returned: 2 }, complete: true, left: { delayed: 2 } },
    ]);
    expect(report['refused']).toEqual(
      expect.arrayContaining([
        { id: 'theirs', reason: text(/message with this id from another queue/) },
        { id: 'x'.repeat(300), reason: text(/^id must be/) },
      ]),
    );
    expect(await bull.redis.zscore(bull.key('delayed'), 'theirs')).toBe(before);
    expect(await bull.queue.getJob('theirs')).toMatchObject({ name: 'timeout' });
  });

  it('gives jobs back that it cannot move once each, however few it takes at a time, and ends', async () => {
    await bull.queue.addBulk([
      { name: 'a', data: {}, opts: { jobId: long(1) } },
      { name: 'a', data: {}, opts: { jobId: 'waits' } },
      { name: 'a', data: {}, opts: { jobId: long(2), priority: 5 } },
    ]);
    await bull.add({ opts: { jobId: long(3) } }, { opts: { jobId: 'later' } }, { opts: { jobId: long(4) } });
    const { code, report } = await json('--waiting', '--rate', '19');
    expect([code, report]).toMatchObject([
      1,
      {
        total: { taken: 6, published: 2, returned: 4 },
        complete: true,
        left: { delayed: 2, waiting: 2, open: 0 },
      },
    ]);
    const refused = report['refused'] as { id: string }[];
    expect(refused.map(({ id }) => id)).toEqual([1, 2, 3, 4].map(long));
    expect(await bull.redis.keys(bull.key('delay-queue-import*'))).toEqual([]);
    // The next run tries them again, also if this one was killed.
    await bull.redis.sadd(bull.key('delay-queue-import:refused'), long(4));
    expect((await json()).report).toMatchObject({ total: { taken: 2, returned: 2 } });
  });

  it('does not take the number of a job for its identity', async () => {
    await bull.add({ data: { n: 1 } }, { opts: { jobId: 'named' } });
    expect((await json()).report).toMatchObject({ total: { published: 2 } });
    // It begins to number its jobs anew.
    await bull.queue.obliterate({ force: true });
    await bull.add({ data: { n: 2 } }, { opts: { jobId: 'named' } });
    const { code, report } = await json();
    expect([code, report]).toMatchObject([
      1,
      { total: { taken: 2, published: 0, duplicates: 1, returned: 1 }, complete: true, left: { delayed: 1 } },
    ]);
    expect(report['refused']).toEqual([
      { id: '1', reason: text(/message '.*:1' of another job with this number: move this queue into another topic/) },
    ]);
    expect(await bull.queue.getJob('1')).toMatchObject({ data: { n: 2 } });
    expect(await bed.admin.get(TOPIC, `${bull.name}:1`)).toMatchObject({ payload: { n: 1 } });
  });

  it('goes on with an import of another target only if it is told to', async () => {
    await bull.add({ opts: { jobId: 'left' } });
    // As a run leaves it that was killed.
    await bull.redis.rename(bull.key('left'), bull.key('delay-queue-import:job:left'));
    await bull.redis.zrem(bull.key('delayed'), 'left');
    await bull.redis.zadd(bull.key('delay-queue-import:taken'), Date.now() * 0x1000, 'left');
    const settings = { to: `topic '${TOPIC}'`, target: 'elsewhere:1', parkedUntil: Date.now() + 1e11, taken: 1 };
    await bull.redis.hset(bull.key('delay-queue-import:settings'), settings);
    expect(await run('--dry-run')).toMatchObject({ code: 0, stdout: text(/^of an earlier run +1 job$/m) });
    expect(await run('--yes')).toMatchObject({
      code: 2,
      stderr: text(/to elsewhere:1 has not ended, and this one goes/),
    });
    const other = await run('--yes', '--moved', '--job', 'a=b', '--create');
    expect(other).toMatchObject({
      code: 2,
      stderr: text(/to topic '.*' has not ended. Repeat it with the same topics/),
    });
    const { report } = await json('--moved');
    expect(report).toMatchObject({ resumed: 1, total: { taken: 1, published: 1 }, complete: true });
  });

  it('refuses a queue or a topic that nobody knows, and options that are wrong', async () => {
    await bull.add({});
    const wrong = `${bull.name.slice(0, -1)}!`;
    const { code, stderr } = await runInProcess(['import-bullmq', wrong, '--to', TOPIC], { env: bed.env });
    expect([code, stderr]).toEqual([1, text(/There is no queue '.*' under the prefix 'bull'\. Did you mean 'queue-/)]);
    const misspelt = await runInProcess(['import-bullmq', bull.name, '--to', 'order.timeot'], { env: bed.env });
    expect(misspelt).toMatchObject({ code: 1, stderr: text(/never used\. Did you mean 'order\.timeout'\?/) });
    const wrongs = {
      '--from localhost': /--from must be a URL/,
      '--from {"host"': /--from begins as JSON/,
      '--rate 0': /--rate must be a number greater than 0/,
      '--job mail': /It must be name=topic/,
      '--job a=b{c}': /A topic must be 1 to 128/,
    };
    for (const [options, says] of Object.entries(wrongs)) {
      expect([options, await run(...options.split(' '))]).toMatchObject([options, { code: 2, stderr: text(says) }]);
    }
    expect(await run('--from', 'redis://127.0.0.1:1', '--redis-timeout', '500')).toMatchObject({
      code: 3,
      stderr: text(/127\.0\.0\.1:1/),
    });
  });
});
