import { describe, expect, it } from 'vitest';
import { printPage } from '../../lib/cli/commands/peek.js';
import { assemble } from '../../lib/cli/run.js';
import { TOPIC, useCliBed } from '../support/cli/cli-bed.js';
import { FakeTerminal } from '../support/cli/fake-terminal.js';

const bed = useCliBed('test');
const { run, json } = bed;

const text = (pattern: RegExp): string => expect.stringMatching(pattern) as string;

describe('messages with a tag', () => {
  it('are listed and cancelled together, once that is confirmed', async () => {
    for (const id of ['1', '2', '3']) {
      await run('publish', TOPIC, '{}', '--id', id, '--delay', '1h', '--tag', id === '3' ? 'us' : 'eu', '--tag', 'all');
    }
    expect(await json('peek', TOPIC, '--tag', 'eu')).toMatchObject({ messages: [{ id: '1' }, { id: '2' }] });
    expect((await run('get', TOPIC, '3')).stdout).toMatch(/^tags +us, all$/m);
    expect(await run('cancel', TOPIC, '--tag', 'eu', '--dry-run')).toEqual({
      code: 0,
      stdout: '2 messages would be cancelled.\n',
      stderr: '',
    });
    expect(await run('cancel', TOPIC, '--tag', 'eu')).toMatchObject({
      code: 4,
      stderr: text(/This cancels 2 messages of topic 'order\.timeout' for good\. .* or with --dry-run to count/),
    });
    expect((await run('cancel', TOPIC, '1', '--tag', 'eu')).code).toBe(2);
    expect(await json('cancel', TOPIC, '--tag', 'eu', '--yes')).toEqual({
      topic: TOPIC,
      tag: 'eu',
      matched: 2,
      cancelled: 2,
      inFlight: 0,
      dryRun: false,
      aborted: false,
    });
    expect(await json('peek', TOPIC)).toMatchObject({ messages: [{ id: '3' }] });
  });

  it('may stand behind a page that is empty', async () => {
    await run('publish', TOPIC, '{}', '--delay', '1h');
    const terminal = new FakeTerminal({ env: bed.env });
    const { cli } = assemble(terminal);
    const page = { messages: [], cursor: 'next' };
    await cli.open((queues) => printPage(cli, queues, { topic: TOPIC, state: 'dead', page, filter: { tag: 'eu' } }));
    await new Promise(setImmediate);
    expect([terminal.output, terminal.errors]).toEqual(['', 'There may be more: --cursor next\n']);
  });
});

describe('messages of a key', () => {
  it('are listed', async () => {
    for (const id of ['1', '2', '3']) {
      await run('publish', TOPIC, '{}', '--id', id, '--delay', '1h', '--key', id === '2' ? 'b' : 'a');
    }
    expect(await json('peek', TOPIC, '--key', 'a')).toMatchObject({ messages: [{ id: '1' }, { id: '3' }] });
    expect((await run('peek', TOPIC, '--key', 'a', '--tag', 'eu')).code).toBe(2);
  });
});
