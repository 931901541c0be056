import { Injectable } from '@nestjs/common';
import { Redis } from 'ioredis';
import { RecurringHandler } from 'nestjs-delay-queue';
import { expect, it } from 'vitest';
import { useCliBed } from '../support/cli/cli-bed.js';
import { type Outcome, runInProcess } from '../support/cli/run-in-process.js';

@Injectable()
class Reports {
  @RecurringHandler('report.daily', { cron: '0 6 * * *', timeZone: 'Europe/Berlin' })
  send(): void {}
}

const bed = useCliBed(
  'test',
  async (filled) => {
    await filled.admin.schedules.upsert({ id: 'digest', topic: 'digest', payload: { of: 7 }, every: '1h' });
    await filled.whileHandling(async () => {});
  },
  { handlers: [Reports] },
);

async function run(...args: readonly string[]): Promise<Outcome> {
  return bed.run('schedules', ...args);
}

/** What the audit log has, the latest first. */
const audited = async (): Promise<string[]> => (await bed.admin.audit()).entries.map(({ action }) => action);

const idsLeft = async (): Promise<string[]> => (await bed.admin.schedules.list()).map(({ id }) => id);

it('a schedule is paused, tells what would occur, and goes on', async () => {
  expect(await run('pause', 'digest')).toEqual({ code: 0, stdout: "Schedule 'digest' is paused.\n", stderr: '' });
  expect(await bed.admin.schedules.get('digest')).toMatchObject({ paused: true });
  expect((await run('list')).stdout).toMatch(
    /^digest +every 1h +paused +- +0 +digest\nreport\.daily +0 6 \* \* \* Europe\/Berlin +in /m,
  );
  expect((await run('get', 'digest')).stdout).toMatch(/^next +paused\nlast +-\nmissed +0$/m);
  expect((await run('get', 'report.daily')).stdout).toMatch(/^declared +by a @RecurringHandler\(\)$/m);
  expect((await run('next', 'digest')).stdout).toMatch(/^(\S+Z \(in .*\)\n){5}$/);
  await run('resume', 'digest');
  expect(await bed.admin.schedules.get('digest')).toMatchObject({ paused: false });
  expect(await audited()).toEqual(['resumeSchedule', 'pauseSchedule']);
});

it('a topic that cannot be told of hides no others, and is named', async () => {
  const redis = new Redis(bed.redisUrl);
  await redis.hset(`{${bed.prefix}:digest}:config`, 'protocol', 99).finally(() => redis.disconnect());
  const { code, stdout } = await run('list');
  expect(code).toBe(5);
  expect(stdout).toMatch(
    /^ID .*\nreport\.daily .*\nNot told, of topic 'digest': digest\. Topic 'digest' was created with/,
  );
  const told = JSON.parse((await run('list', '--json')).stdout) as object;
  expect(told).toMatchObject({
    schedules: [{ id: 'report.daily' }],
    failed: [{ topic: 'digest', ids: ['digest'], code: 'CONFIGURATION' }],
  });
});

it('a schedule publishes its message now', async () => {
  const { stdout } = await run('run-now', 'digest');
  const { messages } = await bed.admin.peek('digest', 'due');
  expect(messages).toMatchObject([{ payload: { of: 7 } }]);
  expect(stdout).toBe(`Message '${messages[0]?.id}' of topic 'digest' is due now.\n`);
  expect(await audited()).toEqual(['runScheduleNow']);
});

it('a schedule that has ended has no next occurrence, and that is no error', async () => {
  const ended = { id: 'old', topic: 'digest', payload: {}, every: '1h', endAt: Date.now() - 1 };
  await bed.admin.schedules.upsert(ended);
  expect(await run('next', 'old')).toEqual({ code: 0, stdout: '', stderr: "Schedule 'old' has ended.\n" });
  expect((await run('list')).stdout).toMatch(/^old +every 1h +ended /m);
});

it('a schedule is removed once its id is typed', async () => {
  const refused = await run('remove', 'digest');
  expect([refused.code, refused.stdout]).toEqual([4, '']);
  expect(refused.stderr).toContain("This removes schedule 'digest' for good. There is no terminal");
  const settings = { env: bed.env, isTTY: true };
  const mistyped = await runInProcess(['schedules', 'remove', 'digest'], { ...settings, input: 'digst\n' });
  expect(mistyped.code).toBe(4);
  expect(mistyped.stderr).toContain('Type the id of the schedule to go on: ');
  expect(await idsLeft()).toEqual(['digest', 'report.daily']);
  const typed = await runInProcess(['schedules', 'remove', 'report.daily'], { ...settings, input: 'report.daily\n' });
  expect(typed).toMatchObject({ code: 0, stdout: "Schedule 'report.daily' is removed.\n" });
  expect(typed.stderr).toContain('the next boot stores it again');
  expect(await idsLeft()).toEqual(['digest']);
  expect(await audited()).toEqual(['removeSchedule']);
});

it('what no process can declare is named, and pruned once that is confirmed', async () => {
  const dry = await run('prune', '--dry-run');
  expect(dry).toEqual({ code: 0, stdout: '1 schedule would be removed.\n  report.daily\n', stderr: '' });
  const refused = await run('prune');
  expect([refused.code, refused.stdout]).toEqual([4, '']);
  expect(refused.stderr).toContain('This removes 1 schedule: report.daily. There is no terminal');
  await bed.whileHandling(async () => {
    expect(await run('prune', '--yes')).toMatchObject({ code: 0, stdout: '0 schedules removed.\n' });
  });
  const { stdout } = await run('prune', '--yes', '--json');
  expect(JSON.parse(stdout)).toEqual({ matched: ['report.daily'], removed: ['report.daily'], dryRun: false });
  expect(await idsLeft()).toEqual(['digest']);
  expect(await audited()).toEqual(['pruneSchedule']);
});

it.each(['get', 'next', 'pause', 'resume', 'run-now', 'remove'])(
  '%s says that there is no such schedule',
  async (name) => {
    expect(await run(name, 'digset', '--yes')).toEqual({
      code: 1,
      stdout: '',
      stderr: "error: There is no schedule 'digset'. Did you mean 'digest'?\n",
    });
  },
);

async function complete(...words: readonly string[]): Promise<string> {
  return (await bed.run('complete', '--', ...words)).stdout;
}

it('a schedule and a topic are completed by name', async () => {
  expect(await complete('schedules', 'pause', 'd')).toBe('digest\n');
  expect(await complete('explain', 'r')).toBe('report.daily\n');
  expect(await complete('schedules', 're')).toBe('resume\nremove\n');
  expect(await complete('schedules', 'prune', '--d')).toBe('--dry-run\n');
  expect(await complete('schedules', 'prune', '--js')).toBe('--json\n');
});
