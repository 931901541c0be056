import { execFile } from 'node:child_process';
import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { TOPIC, useCliBed } from '../support/cli/cli-bed.js';
import { runInProcess } from '../support/cli/run-in-process.js';
import { codeBlocks, readDocument } from '../support/docs/markdown.js';

const DOCUMENT = 'docs/reference/command-line.md';

/** The commands in their order, each block with what the document says that it prints. */
const blocks = codeBlocks(readDocument(DOCUMENT));
const examples = blocks.flatMap(({ language, code, line, heading }, i) => {
  const next = blocks[i + 1];
  // Two lines of fences and an empty one are between a command and its output.
  const isShown = next?.language === 'text' && next.line === line + code.split('\n').length + 3;
  return language === 'sh' ? [{ heading, code, output: isShown ? next.code : undefined }] : [];
});

const bed = useCliBed('file', async (filled) => {
  await filled.publish([
    { payload: { fail: 'There is no order 1007' }, options: { id: '1007' } },
    { payload: { fail: 'There is no order 1008' }, options: { id: '1008' } },
    { payload: { fail: 'no stock' }, options: { id: '1009' } },
  ]);
  await filled.admin.schedules.upsert({ id: 'digest', topic: 'digest', payload: { customer: 7 }, every: '1h' });
});

describe('docs/reference/command-line.md', () => {
  let folder = '';

  beforeAll(async () => {
    folder = await mkdtemp(join(inject('runFolder'), 'command-line-'));
    const npx = join(folder, 'npx');
    await writeFile(npx, `#!/bin/sh\nshift\nexec '${process.execPath}' '${resolve('dist/cjs/cli/index.js')}' "$@"\n`);
    await chmod(npx, 0o755);
  });

  it('has examples under each heading about commands', () => {
    expect(examples.length).toBeGreaterThan(7);
    expect(examples.filter(({ output }) => output !== undefined).length).toBeGreaterThan(6);
  });

  it('prints what it says, one example after the other', async () => {
    const printed = await bed.whileHandling(async (producer) => {
      const outputs: string[] = [];
      for (const { code } of examples) {
        const ended = new AbortController();
        const printing = (isPlain(code) ? plain(code) : shell(code)).finally(() => ended.abort());
        // What is followed has to happen, and it is not known from when on.
        while (code.includes('--follow') && !ended.signal.aborted) {
          await producer.publish(TOPIC, {}, { id: '50', onDuplicate: 'ignore' });
          await setTimeout(100);
        }
        outputs.push(await printing);
      }
      return outputs;
    });
    const shown = examples
      .map(({ output }, i) => [output, printed[i]] as const)
      .filter(([output]) => output !== undefined);
    expect(shown.map(([output = '', text = '']) => alike(text, endOf(output)))).toEqual(
      shown.map(([output = '']) => alike(output, endOf(output))),
    );
  });

  async function shell(code: string): Promise<string> {
    const env = { ...process.env, ...bed.env, PATH: [folder, process.env['PATH']].join(delimiter) };
    return new Promise((done) => {
      execFile('/bin/sh', ['-c', `exec 2>&1\n${code}`], { cwd: folder, env }, (_error, stdout) =>
        done(stdout.trimEnd()),
      );
    });
  }
});

/** Commands alone need no process each. */
async function plain(code: string): Promise<string> {
  const outputs: string[] = [];
  for (const line of code.split('\n')) {
    const { stdout, stderr } = await runInProcess(wordsOf(line).slice(2), { env: bed.env });
    outputs.push(stderr + stdout);
  }
  return outputs.join('').trimEnd();
}

/** Whether a shell would do nothing but call the command line. */
function isPlain(code: string): boolean {
  return code.split('\n').every((line) => /^npx nestjs-delay-queue ([^'|<>&$]|'[^']*')*$/.test(line));
}

function wordsOf(line: string): string[] {
  return Array.from(line.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, bare]) => quoted ?? bare ?? '');
}

/** A line of the document that stands for any number of lines. */
const REST = '…';

/** How many lines of what is printed the document has. */
function endOf(output: string): number | undefined {
  const rest = output.split('\n').indexOf(REST);
  return rest === -1 ? undefined : rest;
}

describe('docs/guides/operations.md', () => {
  const guide = useCliBed('test', async (filled) => {
    await filled.publish([
      { payload: { fail: 'There is no order 42' }, options: { id: '42' } },
      { payload: { orderId: '43' }, options: { id: '43', delay: '1h' } },
    ]);
  });
  const commands = codeBlocks(readDocument('docs/guides/operations.md'))
    .filter(({ language }) => language === 'sh')
    .flatMap(({ code, heading }) => code.split('\n').map((line) => ({ heading, line })))
    .filter(({ line }) => line.startsWith('npx '));

  it.each(commands)('has a command that works, under $heading: $line', async ({ line }) => {
    const args = wordsOf(line).slice(2);
    const { code, stderr } = await runInProcess([...args, '--yes'], { env: guide.env });
    // The doctor may find something in the Redis of the tests.
    expect(args[0] === 'doctor' ? [0, 1] : [0]).toContain(code);
    expect(stderr).not.toMatch(/^error:/m);
  });
});

/** Lines without what differs from run to run, and without the widths of columns that follow from it. */
function alike(text: string, end?: number): string[] {
  return text
    .split('\n')
    .slice(0, end)
    .map((line) =>
      line
        .replaceAll(/[\w.-]+:\d+:[0-9a-f-]{36}/g, '<process>')
        .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
        .replaceAll(/\b\d+(ms|[smhd])( \d+[smhd])?\b/g, '<duration>')
        .replaceAll(/partition \d+/g, 'partition <n>')
        .replaceAll(/ {2,}/g, ' ')
        .trim(),
    );
}
