import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { ACTIONS, type NamedAction } from '../../lib/admin/catalogue/actions.js';
import { TOPIC, text, useCliBed } from '../support/cli/cli-bed.js';
import { runInProcess } from '../support/cli/run-in-process.js';

const bed = useCliBed('test');

const { run, json } = bed;

/** What is told of the options that the message below is published with. */
const OPTIONS = {
  maxAttempts: 3,
  backoff: { type: 'fixed', delay: 60_000 },
  timeout: 5000,
  expireAfter: 3_600_000,
};

describe('publish', () => {
  it('stores a message with all options', async () => {
    const options = [
      '--id',
      '42',
      '--key',
      'k',
      '--delay',
      '30m',
      '--attempts',
      '3',
      '--header',
      'a=b',
      '--header',
      'c=d=e',
    ];
    const more = ['--backoff', '{"type":"fixed","delay":"1m"}', '--timeout', '5s', '--expire-after', '1h'];
    const { code, stdout, stderr } = await run('publish', TOPIC, '{"orderId":"42"}', ...options, ...more);
    expect([code, stderr]).toEqual([0, `Topic '${TOPIC}' is new.\n`]);
    expect(stdout).toMatch(/^Message '42' is due \S+Z \(in (30m|29m 59s)\)\.\n$/);

    expect(await bed.admin.get(TOPIC, { id: '42', key: 'k' })).toMatchObject({
      payload: { orderId: '42' },
      headers: { a: 'b', c: 'd=e' },
      ...OPTIONS,
    });
    expect((await bed.admin.peek(TOPIC, 'scheduled')).messages).toMatchObject([OPTIONS]);
    expect(await json('get', TOPIC, '42')).toMatchObject(OPTIONS);
    expect((await run('get', TOPIC, '42')).stdout).toMatch(
      /^attempts +0 of 3\nbackoff +\{"type":"fixed","delay":60000[^}]*\}\ntimeout +5s\nexpires +1h after it is due$/m,
    );
  });

  it('takes the payload from a file and from the standard input, and says what became of it', async () => {
    const file = join(await mkdtemp(join(inject('runFolder'), 'payload-')), 'order.json');
    await writeFile(file, '{"orderId":"1"}');
    const at = Date.now() + 3_600_000;
    await run('publish', TOPIC, `@${file}`, '--id', '1', '--deliver-at', new Date(at).toISOString());
    await runInProcess(['publish', TOPIC, '-', '--id', '2', '--delay', '1h'], {
      env: bed.env,
      input: '{"orderId":"2"}',
    });
    expect(await bed.admin.get(TOPIC, '1')).toMatchObject({ payload: { orderId: '1' }, at: new Date(at) });
    expect(await bed.admin.get(TOPIC, '2')).toMatchObject({ payload: { orderId: '2' } });

    expect(await run('publish', TOPIC, '1', '--id', '2')).toMatchObject({
      code: 1,
      stderr: text(/already holds a message/),
    });
    expect(await json('publish', TOPIC, '1', '--id', '2', '--on-duplicate', 'replace', '--delay', '2h')).toEqual({
      id: '2',
      topic: TOPIC,
      partition: expect.any(Number) as number,
      dueAt: text(/Z$/),
      duplicate: true,
    });
  });

  it('makes no topic by a typing error', async () => {
    await run('publish', TOPIC, '1', '--delay', '1h');
    const { code, stderr } = await run('publish', 'order.timeot', '1');
    expect([code, stderr]).toEqual([1, text(/Did you mean 'order\.timeout'\? If not, give --create/)]);
    expect(await bed.admin.topics()).toEqual([TOPIC]);
    expect(await run('publish', 'order.timeot', '1', '--create')).toMatchObject({ code: 0 });
    expect(await bed.admin.topics()).toEqual(['order.timeot', TOPIC]);
  });
});

describe('a message that waits is', () => {
  it('moved, made due, edited and cancelled', async () => {
    await bed.publish([{ payload: { a: 1 }, options: { id: '1', delay: '1h' } }]);
    expect(await json('reschedule', TOPIC, '1', '--delay', '2h')).toEqual({ topic: TOPIC, id: '1', result: 'moved' });
    const later = Date.now() + 86_400_000;
    expect(await run('reschedule', TOPIC, '1', '--deliver-at', String(later))).toMatchObject({ code: 0 });
    expect((await bed.admin.get(TOPIC, '1'))?.at).toEqual(new Date(later));
    expect(await json('edit', TOPIC, '1', '{"a":2}')).toEqual({ topic: TOPIC, id: '1', result: 'edited' });
    expect(await json('run-now', TOPIC, '1', '--key', '1')).toEqual({ topic: TOPIC, id: '1', result: 'moved' });
    const { payload, at } = (await bed.admin.get(TOPIC, '1')) ?? {};
    expect([payload, Number(at) <= Date.now() + 1000]).toEqual([{ a: 2 }, true]);
    expect(await run('cancel', TOPIC, '1')).toEqual({ code: 0, stdout: "Message '1' is cancelled.\n", stderr: '' });
    expect(await bed.admin.get(TOPIC, '1')).toBeUndefined();
  });

  it('named in what is refused', async () => {
    await bed.publish([{ payload: { fail: 'x' }, options: { id: 'dead' } }]);
    for (const args of [
      ['run-now', TOPIC, 'dead'],
      ['reschedule', TOPIC, 'dead', '--delay', '1s'],
      ['edit', TOPIC, 'dead', '1'],
    ]) {
      expect(await run(...args)).toEqual({
        code: 1,
        stdout: '',
        stderr: "Message 'dead' is a dead letter: 'requeue' schedules it again. Nothing was changed.\n",
      });
    }
    expect(await run('cancel', TOPIC, 'dead', '--json')).toEqual({
      code: 1,
      stdout: `{"topic":"${TOPIC}","id":"dead","result":"not-found"}\n`,
      stderr: '',
    });
  });
});

/** Two that wait, and one that will be dead. */
function messages() {
  const waiting = { payload: {}, options: { delay: '1h' } };
  return [waiting, waiting, { payload: { fail: 'x' } }];
}

describe('a topic is', () => {
  it('paused and resumed', async () => {
    await bed.publish([{ payload: {}, options: { id: '1', delay: '1h' } }]);
    expect(await json('pause', TOPIC)).toEqual({ topic: TOPIC, paused: true });
    expect((await bed.admin.stats(TOPIC)).paused).toBe(true);
    expect(await run('resume', TOPIC)).toMatchObject({ code: 0, stdout: text(/neither paused nor held/) });
    expect((await bed.admin.stats(TOPIC)).paused).toBe(false);
  });

  it('held for a while, and says until when', async () => {
    await bed.publish([{ payload: {}, options: { id: '1', delay: '1h' } }]);
    const { heldUntil } = (await json('hold', TOPIC, '--for', '30m')) as { heldUntil: string };
    const { partitions } = await bed.admin.stats(TOPIC);
    expect(Math.min(...partitions.map((one) => Number(one.heldUntil)))).toBe(Date.parse(heldUntil));
    expect(await run('hold', TOPIC, '--for', '1s')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(heldUntil) as string,
    });
    expect(await run('resume', TOPIC)).toMatchObject({ code: 0 });
    expect((await bed.admin.stats(TOPIC)).heldUntil).toBeUndefined();
  });

  it.each([
    { command: 'drain', left: { scheduled: 0, dead: 1 }, matched: 2, what: '2 waiting messages' },
    { command: 'purge', left: { scheduled: 2, dead: 0 }, matched: 1, what: '1 dead letter' },
  ])('emptied by $command, once that is confirmed', async ({ command, left, matched, what }) => {
    await bed.publish(messages());
    const counted = await run(command, TOPIC, '--dry-run');
    expect(counted.stdout.split('\n').slice(0, -1)).toEqual([
      `${what} would be removed, such as`,
      text(/^ID +KEY/),
      ...Array<unknown>(matched).fill(expect.any(String)),
    ]);
    const refused = await run(command, TOPIC);
    expect([refused.code, refused.stdout]).toEqual([4, '']);
    expect(refused.stderr).toContain(`This removes ${what} of topic '${TOPIC}' for good. There is no terminal`);
    const mistyped = await runInProcess([command, TOPIC], { env: bed.env, isTTY: true, input: 'order\n' });
    expect(mistyped).toMatchObject({
      code: 4,
      stdout: '',
      stderr: text(/Type the name of the topic to go on: [^]*Nothing was changed/),
    });
    expect(await bed.admin.stats(TOPIC)).toMatchObject({ scheduled: 2, dead: 1 });

    const typed = await runInProcess([command, TOPIC], { env: bed.env, isTTY: true, input: `${TOPIC}\n` });
    expect(typed).toMatchObject({ code: 0, stdout: `${what} removed.\n` });
    expect(await bed.admin.stats(TOPIC)).toMatchObject(left);
    expect(await json(command, TOPIC, '--yes')).toEqual({
      topic: TOPIC,
      matched: 0,
      changed: 0,
      dryRun: false,
      aborted: false,
    });
    await bed.publish(messages());
    expect(await json(command, TOPIC, '-y')).toEqual({
      topic: TOPIC,
      matched,
      changed: matched,
      dryRun: false,
      aborted: false,
    });
  });
});

describe('dead letters are', () => {
  const letters = [
    { payload: { fail: 'There is no order 1' }, options: { id: '1' } },
    { payload: { fail: 'There is no order 2' }, options: { id: '2' } },
    { payload: { fail: 'no stock' }, options: { id: '3', key: 'k' } },
  ];

  it('requeued: counted, one with another payload, those of a group, and the rest', async () => {
    await bed.publish(letters);
    expect(await json('requeue', TOPIC, '--all', '--dry-run')).toEqual({
      topic: TOPIC,
      matched: 3,
      changed: 0,
      dryRun: true,
      aborted: false,
      examples: ['1', '2', '3'].map(() => expect.objectContaining({ topic: TOPIC, state: 'dead' }) as unknown),
    });
    expect(
      await json('requeue', TOPIC, '--id', '3', '--key', 'k', '--payload', '{"b":1}', '--delay', '1h'),
    ).toMatchObject({ changed: 1 });
    expect(await bed.admin.get(TOPIC, '3')).toMatchObject({ state: 'scheduled', payload: { b: 1 } });
    const { groups } = await bed.admin.deadLetterGroups(TOPIC);
    expect(await run('requeue', TOPIC, '--fingerprint', groups[0]?.fingerprint ?? '', '--rate', '1000')).toEqual({
      code: 0,
      stdout: '2 dead letters requeued.\n',
      stderr: '',
    });
    expect(await bed.admin.stats(TOPIC)).toMatchObject({ scheduled: 3, dead: 0 });
  });

  it('removed: those that fit all filters, or one', async () => {
    await bed.publish(letters);
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
    expect(await run('remove', TOPIC, '--reason', 'unrecoverable', '--key', 'k')).toMatchObject({ code: 4 });
    expect(await json('remove', TOPIC, '--reason', 'unrecoverable', '--until', hourAgo, '--yes')).toMatchObject({
      matched: 0,
    });
    expect(await json('remove', TOPIC, '--since', hourAgo, '--key', 'k', '--yes')).toMatchObject({
      matched: 1,
      changed: 1,
    });
    expect(await run('remove', TOPIC, '--id', '1', '--yes')).toMatchObject({
      code: 0,
      stdout: '1 dead letter removed.\n',
    });
    expect((await bed.admin.peek(TOPIC, 'dead')).messages).toMatchObject([{ id: '2' }]);
  });

  it('told apart from one that is not there', async () => {
    await bed.publish(letters);
    for (const command of ['requeue', 'remove']) {
      expect(await run(command, TOPIC, '--id', 'nope', '--yes')).toEqual({
        code: 1,
        stdout: '',
        stderr: "error: Topic 'order.timeout' has no dead letter with the id 'nope'.\n",
      });
    }
  });

  it('counted on the way, on a terminal with a bar', async () => {
    await bed.publish(Array.from({ length: 30 }, (_, i) => ({ payload: { fail: 'x' }, options: { id: String(i) } })));
    const args = ['requeue', TOPIC, '--all', '--rate', '100'];
    const { code, stdout, stderr } = await runInProcess(args, { env: bed.env, isTTY: true });
    expect([code, stdout]).toEqual([0, '30 dead letters requeued.\n']);
    expect(stderr).toMatch(/█.*░.* of 30 requeued, \d+\/s/);
    // The bar is gone.
    expect(stderr.endsWith('\r\u001B[2K')).toBe(true);
    const piped = await run('requeue', TOPIC, '--all', '--rate', '100');
    expect(piped.stderr).toBe('');
  });
});

/** What each action is given to take effect. */
const ARGS: Readonly<Record<NamedAction['name'], string>> = {
  cancel: `${TOPIC} 1`,
  reschedule: `${TOPIC} 2 --delay 2h`,
  runNow: `${TOPIC} 2`,
  edit: `${TOPIC} 2 {}`,
  requeue: `${TOPIC} --id dead --delay 1h`,
  remove: `${TOPIC} --id too --yes`,
  drain: `${TOPIC} --yes`,
  purge: `${TOPIC} --yes`,
  pause: TOPIC,
  hold: `${TOPIC} --for 1m`,
  resume: TOPIC,
  pauseSchedule: 'digest',
  resumeSchedule: 'digest',
  runScheduleNow: 'digest',
  removeSchedule: 'digest --yes',
};

it('every action says in the audit log who did it', async () => {
  await bed.publish(['dead', 'too', 'left'].map((id) => ({ payload: { fail: 'x' }, options: { id } })));
  await bed.publish(['1', '2'].map((id) => ({ payload: {}, options: { id, delay: '1h' } })));
  await bed.admin.schedules.upsert({ id: 'digest', topic: TOPIC, payload: {}, every: '1h' });
  for (const { name, target, command } of ACTIONS) {
    const words = [...(target === 'schedule' ? ['schedules'] : []), command, ...ARGS[name].split(' ')];
    expect(await run(...words, '--actor', `Ann ${name}`)).toMatchObject({ code: 0 });
  }
  const { entries } = await bed.admin.audit({ limit: 200 });
  const told = new Map(entries.map(({ action, actor }) => [actor, action]));
  expect(ACTIONS.map(({ name }) => told.get(`Ann ${name}`))).toEqual(ACTIONS.map(({ name }) => name));
});
