import { describe, expect, it } from 'vitest';
import { ISO, TOPIC, text, useCliBed } from '../support/cli/cli-bed.js';
import { eventually } from '../support/waiting.js';

const bed = useCliBed('file', async (filled) => {
  await filled.publish([
    ...[1, 2, 3].map((n) => ({ payload: {}, options: { id: String(n), key: `k${n}`, delay: `${n}h` } })),
    { payload: { fail: 'There is no order 7' }, options: { id: '7' } },
  ]);
});

const { run, json } = bed;

describe('the command line tells', () => {
  it('what falls due when, as bars', async () => {
    const { code, stdout } = await run('agenda', TOPIC, '--from', String(Date.now()), '--span', '4h', '--buckets', '4');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^3 wait, 0 of them overdue\. 0 are due before these times, 0 after them\.\n\nFROM +MESSAGES\n/,
    );
    const bars = stdout.split('\n').slice(3);
    expect(bars[0]).toMatch(/^\S+Z +(now|\d+m?s ago) +1 +█{40}$/);
    expect(bars[1]).toMatch(/^\S+Z +in (1h|59m( \d+s)?) +1 +█{40}$/);
    expect(bars[3]).toMatch(/^\S+Z +in \S+( \S+)? +0$/);
    expect(await json('agenda', '--to', String(Date.now() + 9_000_000))).toMatchObject({
      scheduled: 3,
      later: 1,
      buckets: { length: 12, 0: { from: ISO, to: ISO, count: 0 } },
      topics: [{ topic: TOPIC }],
    });
  });

  it('why a message has not run, what else would keep it, and since when', async () => {
    const { stdout } = await run('explain', TOPIC, '1');
    expect(stdout).toMatch(/^cause +not-due: its time has not come\ndue +\S+Z \(in 59m .*\)\nalso +no-consumer: /);
    expect(stdout).toMatch(
      /^advice +It is due at .*\ncommand +npx \S+ run-now order\.timeout 1 --key k1\n(command .*\n)\nmessage +1, key k1\n/m,
    );
    expect(stdout).toMatch(/^handlers +none$/m);
    const dead = await run('explain', TOPIC, '7');
    expect(dead.stdout).toMatch(/^cause +dead: .*\ndead since +\S+Z \(.* ago\)$/m);
    expect(dead.stdout).toMatch(/^failure +unrecoverable: UnrecoverableError: There is no order 7$/m);
    expect(await json('explain', TOPIC, '2', '--key', 'k2')).toMatchObject({
      cause: 'not-due',
      also: ['no-consumer', 'no-owner'],
      facts: { id: '2', key: 'k2', at: ISO, dueAt: ISO, diedAt: null },
      advice: text(/./),
    });
    const unknown = await run('explain', TOPIC, 'nope');
    expect(unknown).toMatchObject({ code: 1, stdout: text(/^cause +unknown-id: /), stderr: '' });
  });

  it('who handles what', async () => {
    const [all, one] = await bed.whileHandling(async () => {
      await eventually(async () => {
        const { processes } = await bed.admin.fleet();
        expect(processes[0]?.topics[0]?.partitions).toHaveLength(8);
      });
      return [await run('fleet'), await run('fleet', TOPIC, '--minutes', '15')];
    });
    expect(all.stdout).toMatch(
      /^PROCESS +VERSION .*\n\S+:\d+:\S+ +\d+\.\d+\.\d+ .* 0 of 100 +0 +-?\d+ ms +order\.timeout: 8 partitions\n/,
    );
    expect(one.stdout).toContain('order.timeout: 8 partitions (0 1 2 3 4 5 6 7)');
    expect(one.stdout).toMatch(/^order\.timeout +1 +0 +0 +1 +\d+\.\d +\S+( \S+)? late$/m);
  });

  it('what was done by whom, page by page', async () => {
    for (const actor of ['ann', 'bob']) await bed.admin.cancel(TOPIC, 'nope', { actor });
    const first = await run('audit', '--limit', '1');
    expect(first.stdout).toMatch(
      /^AT +ACTOR .*\n\S+Z \(.*\) +bob +cancel +order\.timeout +"not-found" +\{"id":"nope"\}\n$/,
    );
    const [, cursor = ''] = /^There are more: --cursor (\S+)$/m.exec(first.stderr) ?? [];
    expect(await json('audit', '--cursor', cursor)).toMatchObject({
      entries: [{ at: ISO, actor: 'ann', action: 'cancel', phase: 'done', result: 'not-found' }],
      cursor: null,
    });
    const none = await run('audit', '--prefix', 'nobody');
    expect(none).toEqual({ code: 1, stdout: '', stderr: text(/^no topics: .*\nThe audit log has no entry\.\n$/) });
  });
});
