import { describe, expect, it } from 'vitest';
import { TOPIC, text, useCliBed } from '../support/cli/cli-bed.js';
import { runInProcess } from '../support/cli/run-in-process.js';

const bed = useCliBed('test');

const { run, json } = bed;

const fill = async (): Promise<void> =>
  bed.publish(
    ['a', 'b', 'c', 'd'].map((id, i) => ({
      payload: { customer: { id: i % 2 } },
      options: { id, delay: '1h', ...(i < 3 && { tags: ['red'] }) },
    })),
  );

describe('messages that fit are', () => {
  it('cancelled, once that is confirmed', async () => {
    await fill();
    const args = ['cancel', TOPIC, '--tag', 'red', '--field', 'customer.id=0'];
    const dry = await run(...args, '--dry-run');
    expect(dry.stdout).toMatch(/^2 waiting messages would be cancelled, such as\nID .*\n(a|c) .*\n(a|c) .*\n$/);
    expect(await json(...args, '--dry-run')).toMatchObject({
      matched: 2,
      changed: 0,
      examples: [{ state: 'scheduled' }, { state: 'scheduled' }],
    });
    expect(await run(...args)).toMatchObject({
      code: 4,
      stdout: '',
      stderr: text(/This cancels 2 waiting messages of topic 'order\.timeout' for good\. There is no terminal/),
    });
    const typed = await runInProcess([...args], { env: bed.env, isTTY: true, input: `${TOPIC}\n` });
    expect(typed).toMatchObject({ code: 0, stdout: '2 waiting messages cancelled.\n', stderr: text(/"customer"/) });
    expect(await json('cancel', TOPIC, '--all', '--in-flight', '--yes')).toEqual({
      topic: TOPIC,
      matched: 2,
      changed: 2,
      inFlight: 0,
      dryRun: false,
      aborted: false,
    });
  });

  it('moved and made due', async () => {
    await fill();
    const until = new Date(Date.now() + 7_200_000).toISOString();
    const moved = await json(
      'reschedule',
      TOPIC,
      '--text',
      'CUSTOMER',
      '--to',
      until,
      '--delay',
      '3h',
      '--rate',
      '1000',
    );
    expect(moved).toEqual({ topic: TOPIC, matched: 4, changed: 4, dryRun: false, aborted: false });
    expect(await run('reschedule', TOPIC, '--to', until, '--delay', '3h')).toMatchObject({
      code: 0,
      stdout: '0 waiting messages rescheduled.\n',
    });
    expect(await run('run-now', TOPIC, '--key', 'a')).toMatchObject({ code: 0, stdout: '1 waiting message due.\n' });
    expect(await json('run-now', TOPIC, '--all')).toMatchObject({ matched: 3, changed: 3 });
    expect(await bed.admin.audit({ limit: 1 })).toMatchObject({
      entries: [{ action: 'runNow', given: { all: true }, actor: text(/@/) }],
    });
  });
});
