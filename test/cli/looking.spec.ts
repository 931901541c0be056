import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { DelayQueueAdmin } from '../../lib/admin/delay-queue.admin.js';
import { ISO, TOPIC, text, useCliBed } from '../support/cli/cli-bed.js';
import { runInProcess } from '../support/cli/run-in-process.js';

const bed = useCliBed('file', async (filled) => {
  await filled.publish([
    { payload: { orderId: '1' }, options: { id: '1', delay: '1h', headers: { trace: '7f' }, tags: ['order:1', 'eu'] } },
    { payload: { orderId: '2' }, options: { id: '2', key: 'k', delay: '2h' } },
    { payload: { evil: '\u001B[31mred\n' }, options: { id: 'evil\u001B]0;id\n', delay: '3h' } },
    { payload: { fail: 'There is no order 7' }, options: { id: '7' } },
    { payload: { fail: 'There is no order 8' }, options: { id: '8' } },
    { payload: { fail: 'no stock' }, options: { id: '9' } },
  ]);
});

const { run, json } = bed;

describe('the command line shows', () => {
  it('what a topic holds', async () => {
    const { code, stdout } = await run('stats', TOPIC);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^scheduled +3, the next one due .*\(in 59m/m);
    expect(stdout).toMatch(/^dead +3 dead letters$/m);
    expect(stdout.split('\n').filter((line) => line.endsWith('nobody'))).toHaveLength(9);
    const stats = (await json('stats', TOPIC)) as { partitions: unknown[] };
    expect(stats).toMatchObject({
      topic: TOPIC,
      scheduled: 3,
      dead: 3,
      nextDueAt: ISO,
      oldestDueAt: null,
      paused: false,
    });
    expect(stats.partitions).toHaveLength(8);
    expect(stats.partitions[0]).toMatchObject({ partition: 0, owner: null });
  });

  it('all topics', async () => {
    const { stdout } = await run('stats');
    expect(stdout).toMatch(/^TOPIC +SCHEDULED .*\norder\.timeout +3 +0 +0 +0 +3 +in 59m \d+s +- +handled by nobody\n$/);
    expect(await json('stats')).toMatchObject({ topics: [{ topic: TOPIC, scheduled: 3 }] });
  });

  it('all topics again and again, with rates', async () => {
    const { code, stdout } = await run('top', '--count', '2', '--interval', '500ms');
    expect(code).toBe(0);
    expect(stdout.match(/^order\.timeout /gm)).toHaveLength(2);
    const lines = (await run('top', '--count', '2', '--interval', '500ms', '--json')).stdout.trim().split('\n');
    const looks = lines.map((line) => JSON.parse(line) as { at: string; topics: unknown[] });
    expect(looks).toMatchObject([
      { at: ISO, topics: [{ topic: TOPIC, owned: 0, rates: null }] },
      { at: ISO, topics: [{ topic: TOPIC, rates: { published: 0, acked: 0, retried: 0, dead: 0 } }] },
    ]);
  });

  it('messages that carry a tag', async () => {
    const { stdout } = await run('peek', TOPIC, '--tag', 'eu');
    expect(stdout).toMatch(/^ID +KEY +DUE +ATTEMPTS +TAGS +PAYLOAD\n1 .* +order:1, eu +\{"orderId":"1"\}\n$/);
    expect(await json('peek', TOPIC, '--tag', 'eu')).toMatchObject({
      messages: [{ id: '1', tags: ['order:1', 'eu'] }],
    });
    expect(await run('peek', TOPIC, '--state', 'dead', '--tag', 'eu')).toEqual({
      code: 0,
      stdout: '',
      stderr: `Topic '${TOPIC}' has no message that is dead and has the tag 'eu'.\n`,
    });
  });

  it('messages, page by page', async () => {
    const first = await run('peek', TOPIC, '--limit', '2');
    expect(first.stdout).toMatch(
      /^ID +KEY +DUE .*\n1 +- +in 59m \d+s +0 +order:1, eu +\{"orderId":"1"\}\n2 +k +in 1h 59m +0 .*\n$/,
    );
    const [, cursor = ''] = /^There are more: --cursor (\S+)$/m.exec(first.stderr) ?? [];
    const rest = await json('peek', TOPIC, '--cursor', cursor);
    expect(rest).toMatchObject({
      topic: TOPIC,
      state: 'scheduled',
      messages: [{ payload: { evil: expect.anything() } }],
      cursor: null,
    });
    expect(await run('peek', TOPIC, '--state', 'in-flight')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: text(/no message/),
    });
  });

  it('messages that fit a search, and how to go on', async () => {
    const { code, stdout, stderr } = await run('search', TOPIC, '--text', 'ORDER', '--limit', '2');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^ID +KEY +STATE +AT +ATTEMPTS +TAGS +PAYLOAD\n1 +- +scheduled +in .*order:1, eu.*"1"\}\n2 +k +scheduled .*\n$/,
    );
    const [, cursor = ''] = /^2 of \d messages fit\.\nThere are more to look at: --cursor (\S+)\n$/.exec(stderr) ?? [];
    const rest = (await json('search', TOPIC, '--text', 'ORDER', '--cursor', cursor)) as { messages: { id: string }[] };
    expect(rest).toEqual({ topic: TOPIC, messages: expect.any(Array) as unknown, read: 4, cursor: null });
    // Which of them has died first is left open.
    expect(rest.messages.map(({ id }) => id).toSorted()).toEqual(['7', '8']);
    const field = ['--field', 'orderId=2', '--state', 'scheduled', 'dead'];
    expect(await json('search', TOPIC, ...field)).toMatchObject({ messages: [{ id: '2' }], read: 6 });
    expect(await run('search', 'order.timeot', '--all')).toMatchObject({ code: 1, stderr: text(/Did you mean/) });
  });

  it('what a search has found by Ctrl-C', async () => {
    const once = vi.spyOn(process, 'once');
    const search = Reflect.get(DelayQueueAdmin.prototype, 'search');
    vi.spyOn(DelayQueueAdmin.prototype, 'search').mockImplementation(async function (this: DelayQueueAdmin, ...args) {
      const page = await search.call(this, args[0], args[1], { ...args[2], maxRead: 2 });
      const [, interrupt] = once.mock.calls.findLast(([name]) => name === 'SIGINT') ?? [];
      (interrupt as () => void)();
      return page;
    });
    const { code, stdout, stderr } = await run('search', TOPIC, '--all', '--json').finally(() => vi.restoreAllMocks());
    expect(code).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ messages: [{ id: '1' }, { id: '2' }], read: 2, cursor: text(/./) });
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'INTERRUPTED' } });
  });

  it('a message whose content does nothing to the terminal', async () => {
    const { stdout } = await run('peek', TOPIC);
    expect(stdout).toContain('evil\\u001b]0;id\\n');
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    const one = await run('get', TOPIC, 'evil\u001B]0;id\n');
    expect(one.stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  it('a message with all that is known of it', async () => {
    const { stdout } = await run('get', TOPIC, '1');
    expect(stdout).toMatch(/^state +scheduled$/m);
    expect(stdout).toMatch(/^headers +\{"trace":"7f"\}$/m);
    expect(await json('get', TOPIC, '2', '--key', 'k')).toMatchObject({
      id: '2',
      key: 'k',
      topic: TOPIC,
      state: 'scheduled',
      at: ISO,
      payload: { orderId: '2' },
      headers: {},
      deliveries: 0,
      attempts: 0,
      failure: null,
      history: [],
    });
    const dead = await run('get', TOPIC, '7');
    expect(dead.stdout).toMatch(/^failure +unrecoverable: UnrecoverableError: There is no order 7$/m);
    expect(dead.stdout).toMatch(/^ +at Orders\.onTimeout /m);
    expect(dead.stdout).toMatch(/^ {2}attempt 1, .* ago\), after \d+ms: UnrecoverableError/m);
  });

  it('dead letters, and their groups', async () => {
    const { stdout } = await run('dead', TOPIC);
    expect(stdout).toMatch(/^7 +- +\S+ ago +1 +unrecoverable: UnrecoverableError: There is no order 7$/m);
    expect(await json('dead', TOPIC, '--limit', '1')).toMatchObject({
      state: 'dead',
      messages: [{}],
      cursor: text(/./),
    });
    const groups = await run('dead', TOPIC, '--group');
    expect(groups.stdout).toMatch(
      /^3 dead letters in 2 groups\n\nCOUNT .*\n +2 +[0-9a-f]{16} .* There is no order <n>\n/,
    );
    expect(await json('dead', TOPIC, '--group')).toMatchObject({
      topic: TOPIC,
      total: 3,
      ungrouped: 0,
      groups: [
        {
          count: 2,
          fingerprint: text(/^[0-9a-f]{16}$/),
          reason: 'unrecoverable',
          firstAt: ISO,
          lastAt: ISO,
          code: 'UNRECOVERABLE',
        },
        { count: 1, pattern: 'no stock', example: { id: '9', key: '9' } },
      ],
    });
  });

  it('what a Redis lacks', async () => {
    const { code, stdout } = await run('doctor');
    expect([0, 1]).toContain(code);
    expect(stdout).toMatch(/^ok {6}connection: /m);
    const { code: jsonCode, stdout: document } = await run('doctor', '--json');
    expect(jsonCode).toBe(code);
    const { findings } = JSON.parse(document) as { findings: { check: string; level: string }[] };
    expect(findings[0]).toMatchObject({ check: 'connection', level: 'ok', message: text(/./), advice: '' });
    expect(code).toBe(findings.some(({ level }) => level === 'error') ? 1 : 0);
    const quiet = await run('doctor', '--quiet', '--strict', '--json');
    const bad = findings.filter(({ level }) => level !== 'ok');
    expect(JSON.parse(quiet.stdout)).toMatchObject({ findings: bad.map(({ check, level }) => ({ check, level })) });
    expect(quiet.code).toBe(bad.length > 0 ? 1 : 0);
  });

  it('events of the fleet, filtered, until there were enough', async () => {
    const args = ['events', TOPIC, '--follow', '--kind', 'acked', 'gap', '--id', 'e', '--count', '2', '--json'];
    const messages = ['e', 'other'].map((id) => ({ payload: {}, options: { id, onDuplicate: 'ignore' as const } }));
    const { stdout, stderr } = await bed.whilePublishing(messages, run(...args));
    const acked = { kind: 'acked', topic: TOPIC, id: 'e', key: 'e', attempt: 1, process: text(/./), at: ISO };
    const lines = stdout.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([acked, acked]);
    expect(stderr).toBe('');
  });
});

describe('the command line says', () => {
  it('which topic was probably meant', async () => {
    for (const args of [
      ['stats'],
      ['agenda'],
      ['fleet'],
      ['peek'],
      ['dead'],
      ['dead', '--group'],
      ['get', '1'],
      ['cancel', '1'],
      ['cancel', '--all'],
      ['requeue', '--all'],
      ['pause'],
      ['hold', '--for', '1m'],
      ['resume'],
      ['drain'],
    ]) {
      const [command = '', ...options] = args;
      const { code, stdout, stderr } = await run(command, 'order.timeot', ...options);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toMatch(/^error: Topic 'order\.timeot' was never used .*Did you mean 'order\.timeout'\?\n$/);
    }
  });

  it('that there is no such message', async () => {
    const { code, stderr } = await run('get', TOPIC, 'nope', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toEqual({
      error: { code: 'NOT_FOUND', message: expect.stringContaining("no message with the id 'nope'") as string },
    });
  });

  it('what the least rights are, without a Redis', async () => {
    const settings = { env: { DELAY_QUEUE_REDIS: 'redis://127.0.0.1:1', DELAY_QUEUE_PREFIX: 'shop' } };
    const { code, stdout } = await runInProcess(['acl'], settings);
    expect(code).toBe(0);
    expect(stdout.match(/^ACL SETUSER (producer|consumer|operator) on resetkeys .*~\{shop:\* /gm)).toHaveLength(3);
    const one = await runInProcess(['acl', 'producer', '--user', 'web', '--cluster', '--json'], settings);
    expect(JSON.parse(one.stdout)).toMatchObject({
      prefix: 'shop',
      roles: [
        {
          role: 'producer',
          rule: text(/^ACL SETUSER web .*\+spublish/),
          commands: expect.arrayContaining(['SPUBLISH']),
        },
      ],
    });
    expect(await runInProcess(['acl', 'king'], settings)).toMatchObject({ code: 2 });
  });
});

describe('colours', () => {
  it.each([
    { what: 'on a terminal', settings: { isTTY: true }, args: [], coloured: true },
    { what: 'with --no-color', settings: { isTTY: true }, args: ['--no-color'], coloured: false },
    { what: 'in a pipe', settings: {}, args: [], coloured: false },
  ])('$what: $coloured', async ({ settings, args, coloured }) => {
    const { stdout } = await runInProcess(['stats', TOPIC, ...args], { ...settings, env: bed.env });
    expect(stdout.includes('\u001B[')).toBe(coloured);
  });

  it('keep columns where they are, and a line as wide as the terminal', async () => {
    const { stdout } = await runInProcess(['dead', TOPIC], { isTTY: true, columns: 60, env: bed.env });
    const lines = stripVTControlCharacters(stdout).trimEnd().split('\n');
    expect(lines.every((line) => line.length <= 60)).toBe(true);
    const column = lines[0]?.indexOf('FAILURE') ?? -1;
    expect(lines.slice(1).map((line) => line.indexOf('unrecov'))).toEqual([column, column, column]);
  });
});
