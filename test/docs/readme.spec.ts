import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { until } from '../support/waiting.js';
import { MemoryProgram } from './support/compiler.js';
import { isFault, isWholeProgram, toModule } from './support/excerpts.js';
import { codeBlocks, readDocument } from './support/markdown.js';

const blocks = codeBlocks(readDocument('README.md')).filter(({ language }) => language === 'ts');
const programs = blocks.filter(isWholeProgram).map((block) => ({ ...block, file: `readme-program-${block.line}.ts` }));
const excerpts = blocks
  .filter((block) => !isWholeProgram(block))
  .map((block) => ({ ...block, file: `readme-excerpt-${block.line}.ts` }));

/** Code that must not compile, and what the compiler has to find in it. */
const wrong = [
  { code: "await producer.publish('t', 1, { dealy: 1 });", finding: 'dealy', file: 'wrong-option.ts' },
  // The map of 'Typed topics' has its type; all that is compiled here shares it.
  { code: "await producer.publish('order.timeout', { order: '42' });", finding: 'orderId', file: 'wrong-payload.ts' },
];

let compiled: MemoryProgram;
let problems: ReadonlyMap<string, readonly string[]>;

beforeAll(() => {
  compiled = new MemoryProgram(
    'test/docs',
    new Map([
      ...programs.map(({ file, code }) => [file, code] as const),
      ...[...excerpts, ...wrong].map((block) => [block.file, toModule(block)] as const),
    ]),
  );
  problems = new Map([...programs, ...excerpts, ...wrong].map(({ file }) => [file, compiled.problems(file)]));
}, 120_000);

describe('the code of the README', () => {
  it('has whole programs, and excerpts', () => {
    expect(programs.map(({ heading }) => heading)).toEqual(['Example', 'Testing']);
    expect(excerpts.length).toBeGreaterThan(0);
  });

  it.each(programs)('compiles as printed under strict settings: the program in line $line', ({ file }) => {
    expect(problems.get(file)).toEqual([]);
  });

  it.each(excerpts)('compiles with what it takes for granted: the excerpt in line $line', ({ file }) => {
    expect(problems.get(file)?.filter(isFault)).toEqual([]);
  });

  it.each(wrong)('is told apart from code that does not compile: $code', ({ file, finding }) => {
    expect(problems.get(file)?.filter(isFault).join()).toContain(finding);
  });
});

describe('the example of the README, run as printed', () => {
  let folder: string;
  let redisUrl: string;
  let example: ChildProcess;
  let output = '';

  beforeEach(async () => {
    redisUrl = ownDatabase(inject('redisUrl'));
    await removeKeys(redisUrl);
    folder = await mkdtemp(join(tmpdir(), 'delay-queue-readme-'));
    await installBesidePeers(folder);
    await writeFile(join(folder, 'main.js'), compiled.javaScript(programs[0]?.file ?? ''));
    example = spawn(process.execPath, ['main.js'], { cwd: folder, env: { ...process.env, REDIS_URL: redisUrl } });
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

  it('places an order, closes it when its time has come, and ends in order', async () => {
    const exited = once(example, 'exit');
    await until('the order to be closed', () => output.includes('is closed') || hasEnded(example)).catch(
      (error: unknown) => {
        throw new Error(output, { cause: error });
      },
    );
    const [, id] = /^Order (\S+) is placed and has to be paid by \d{4}-\d\d-\d\dT\S+Z$/m.exec(output) ?? [];
    expect(output.split('\n')).toContain(`Order ${id} is closed (attempt 1)`);

    example.kill('SIGTERM');
    expect(await exited).toEqual([null, 'SIGTERM']);
    expect(output).not.toMatch(/ERROR|Error/);
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
  const keys = await redis.keys('{dq:order.timeout*');
  if (keys.length > 0) await redis.unlink(keys);
  redis.disconnect();
}

/** Nobody owns a partition, and nothing waits for a lease to end. */
async function expectHandedOver(url: string): Promise<void> {
  const redis = new Redis(url);
  const keys = await redis.keys('{dq:order.timeout*');
  redis.disconnect();
  expect(keys.filter((key) => /:(owner|members|inflight|scheduled|messages)$/.test(key))).toEqual([]);
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
