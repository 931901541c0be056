import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { until } from '../support/waiting.js';
import { MemoryProgram } from '../support/docs/compiler.js';
import { isWholeProgram } from '../support/docs/excerpts.js';
import { ofConsumersAmong } from '../support/stored-fleet.js';
import { codeBlocks, readDocument } from '../support/docs/markdown.js';

const readme = readDocument('README.md');
const quickStart = codeBlocks(readme).find(isWholeProgram);

describe('the README', () => {
  it('has at most 200 lines', () => {
    expect(readme.split('\n').length).toBeLessThanOrEqual(200);
  });

  it('has one example, the quick start, and beside it commands and text', () => {
    expect(quickStart?.heading).toBe('Quick start');
    const languages = codeBlocks(readme).map(({ language }) => language);
    expect(languages.toSorted()).toEqual(['sh', 'text', 'ts']);
  });
});

describe.each(['embedded', 'Redis'])('the quick start, run as printed: %s', (place) => {
  let folder: string;
  let redisUrl: string;
  let example: ChildProcess;
  let output = '';

  beforeEach(async () => {
    output = '';
    redisUrl = ownDatabase(inject('redisUrl'));
    await removeKeys(redisUrl);
    folder = await mkdtemp(join(tmpdir(), 'delay-queue-readme-'));
    await installBesidePeers(folder);
    const program = new MemoryProgram('test/docs', new Map([['main.ts', quickStart?.code ?? '']]));
    await writeFile(join(folder, 'main.js'), program.javaScript('main.ts'));
    const { REDIS_URL: _, NODE_ENV: __, ...env } = process.env;
    if (place === 'Redis') env['REDIS_URL'] = redisUrl;
    example = spawn(process.execPath, ['main.js'], { cwd: folder, env });
    for (const stream of [example.stdout, example.stderr]) {
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    }
  });

  afterEach(async () => {
    if (!hasEnded(example)) {
      example.kill('SIGKILL');
      await once(example, 'exit');
    }
    await rm(folder, { recursive: true });
    await removeKeys(redisUrl);
  });

  it('prints what the README says, and ends in order', async () => {
    const exited = once(example, 'exit');
    await until('the order to time out', () => output.includes('in time') || hasEnded(example)).catch(
      (error: unknown) => {
        throw new Error(output, { cause: error });
      },
    );
    const [shown = ''] = codeBlocks(readme)
      .filter(({ language }) => language === 'text')
      .map(({ code }) => code);
    const lines = output.split('\n').filter((line) => line.startsWith('Order '));
    const [first = '', second = ''] = lines;
    const [, dueAt = ''] = /^Order 42 has to be paid by (\S+)$/.exec(first) ?? [];
    expect([first.replace(dueAt, '2026-01-01T12:00:02.000Z'), second]).toEqual(shown.split('\n'));
    expect(new Date(dueAt).toISOString()).toBe(dueAt);

    example.kill('SIGTERM');
    expect(await exited).toEqual([null, 'SIGTERM']);
    expect(output).not.toMatch(/ERROR|Error/);
    expect(output.includes("redis: 'embedded:' keeps messages in the memory")).toBe(place === 'embedded');
    await expectHandedOver(redisUrl);
  });
});

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** The example uses the default prefix; a database of its own keeps it from other tests, and from real messages. */
function ownDatabase(url: string): string {
  const own = new URL(url);
  own.pathname = '/15';
  return own.href;
}

async function removeKeys(url: string): Promise<void> {
  const redis = new Redis(url);
  const keys = await redis.keys('{dq:*');
  if (keys.length > 0) await redis.unlink(keys);
  redis.disconnect();
}

/** Nobody owns a partition, and nothing waits for a lease to end. */
async function expectHandedOver(url: string): Promise<void> {
  const redis = new Redis(url);
  const keys = await redis.keys('{dq:*');
  const kept = await ofConsumersAmong(redis, keys);
  redis.disconnect();
  expect(kept).toEqual([]);
  expect(keys.filter((key) => /:(scheduled|messages)$/.test(key))).toEqual([]);
}

/** As `npm install` would lay it out, with the packages of this repository in the place of downloaded ones. */
async function installBesidePeers(folder: string): Promise<void> {
  const modules = join(folder, 'node_modules');
  await mkdir(modules);
  for (const name of ['@nestjs', 'ioredis', 'reflect-metadata', 'rxjs']) {
    await symlink(resolve('node_modules', name), join(modules, name));
  }
  await symlink(resolve('.'), join(modules, 'nestjs-delay-queue'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
}
