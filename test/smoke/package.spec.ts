import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

const run = promisify(execFile);

/** Publishes a message and handles it, without decorators' syntax, so that it runs as plain JavaScript. */
const PROGRAM = `
class Handler {
  handle(payload, message) { console.log('handled', payload.text, message.attempt); done(); }
}
let done;
const handled = new Promise((resolve) => (done = resolve));
const method = Object.getOwnPropertyDescriptor(Handler.prototype, 'handle');
DelayedHandler('smoke')(Handler.prototype, 'handle', method);
class AppModule {}
Module({
  imports: [DelayQueueModule.forRoot({ redis: process.env.REDIS_URL, prefix: process.env.PREFIX })],
  providers: [Handler],
})(AppModule);
async function main() {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  await app.get(DelayQueueProducer).publish('smoke', { text: 'hello' }, { delay: 10 });
  await handled;
  await app.close();
}
main();
`;

/** The same in a test: 30 days go by at once, with no Redis. */
const TEST_PROGRAM = `
class Handler {
  handle(payload, message) { console.log('handled', payload.text, message.attempt); }
}
const method = Object.getOwnPropertyDescriptor(Handler.prototype, 'handle');
DelayedHandler('smoke')(Handler.prototype, 'handle', method);
async function main() {
  const builder = Test.createTestingModule({ imports: [DelayQueueTestingModule.forRoot()], providers: [Handler] });
  const module = await builder.compile();
  await module.init();
  await module.get(DelayQueueProducer).publish('smoke', { text: 'hello' }, { delay: '30d' });
  await module.get(DelayQueueHarness).advance('30d');
  await module.close();
}
main();
`;

/** Has one fault, to see that the types are found at all. */
const TYPED_PROGRAM = `
import type { DelayQueueProducer } from 'nestjs-delay-queue';
import { DelayQueueHarness } from 'nestjs-delay-queue/testing';

export async function run(producer: DelayQueueProducer, harness: DelayQueueHarness): Promise<void> {
  await producer.publish('smoke', 1);
  const wrong: string = harness.now;
}
`;

const ESM = `
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayedHandler, DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
${PROGRAM}`;

const COMMON_JS = `
require('reflect-metadata');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { DelayedHandler, DelayQueueModule, DelayQueueProducer } = require('nestjs-delay-queue');
${PROGRAM}`;

const ESM_TEST = `
import 'reflect-metadata';
import { Test } from '@nestjs/testing';
import { DelayedHandler, DelayQueueProducer } from 'nestjs-delay-queue';
import { DelayQueueHarness, DelayQueueTestingModule } from 'nestjs-delay-queue/testing';
${TEST_PROGRAM}`;

const COMMON_JS_TEST = `
require('reflect-metadata');
const { Test } = require('@nestjs/testing');
const { DelayedHandler, DelayQueueProducer } = require('nestjs-delay-queue');
const { DelayQueueHarness, DelayQueueTestingModule } = require('nestjs-delay-queue/testing');
${TEST_PROGRAM}`;

const RESOLUTIONS: readonly ts.CompilerOptions[] = [
  // node10, as many projects on Nest 11 have it; its name is deprecated.
  { module: ts.ModuleKind.CommonJS, moduleResolution: 2 },
  { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
  { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
];

describe('the packed library', () => {
  let folder: string;
  let files: string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'delay-queue-package-'));
    const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]);
    const [{ filename, files: packed }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
    files = packed.map(({ path }) => path);
    await run('tar', ['-xzf', filename], { cwd: folder });
    await installBesidePeers(folder);
  }, 60_000);

  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  it('holds the built code, the Lua scripts and the documents, and nothing else', () => {
    expect(files).toContain('dist/index.js');
    expect(files).toContain('dist/index.d.ts');
    expect(files).toContain('dist/broker/redis/lua/claim.lua');
    expect(files).toContain('dist/broker/redis/lua/includes/now.lua');
    const others = files.filter((path) => !path.startsWith('dist/'));
    expect(others.toSorted()).toEqual(['LICENSE', 'README.md', 'package.json']);
  });

  it('is imported by an ES module, and handles a message', async () => {
    expect(await execute('app.mjs', ESM)).toBe('handled hello 1');
  });

  it('is required by a CommonJS module, and handles a message', async () => {
    expect(await execute('app.cjs', COMMON_JS)).toBe('handled hello 1');
  });

  it('has a testing kit for ES modules, which leaves nothing open', async () => {
    expect(await execute('test.mjs', ESM_TEST)).toBe('handled hello 1');
  });

  it('has a testing kit for CommonJS modules, which leaves nothing open', async () => {
    expect(await execute('test.cjs', COMMON_JS_TEST)).toBe('handled hello 1');
  });

  it.each(RESOLUTIONS)('has types that TypeScript finds: %o', (options) => {
    const importing = join(folder, 'typed.ts');
    const found = ['nestjs-delay-queue', 'nestjs-delay-queue/testing'].map(
      (name) => ts.resolveModuleName(name, importing, options, ts.sys).resolvedModule?.resolvedFileName,
    );
    expect(found).toEqual(['index.d.ts', 'testing/index.d.ts'].map((file) => join(folder, 'package/dist', file)));
  });

  it('has types that an older CommonJS project compiles with', async () => {
    await writeFile(join(folder, 'typed.ts'), TYPED_PROGRAM);
    const settings = [
      '--ignoreConfig',
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--target',
      'es2022',
      '--types',
      'node',
    ];
    const older = ['--module', 'commonjs', '--moduleResolution', 'node10', '--ignoreDeprecations', '6.0'];
    const compiling = run(resolve('node_modules/.bin/tsc'), [...settings, ...older, 'typed.ts'], { cwd: folder });
    await expect(compiling).rejects.toMatchObject({
      stdout: "typed.ts(7,9): error TS2322: Type 'Date' is not assignable to type 'string'.\n",
    });
  }, 60_000);

  async function execute(name: string, source: string): Promise<string> {
    await writeFile(join(folder, name), source);
    const env = { ...process.env, REDIS_URL: inject('redisUrl'), PREFIX: randomUUID() };
    const { stdout } = await run(process.execPath, [name], { cwd: folder, env, timeout: 15_000 });
    return stdout.trim();
  }
});

/** As `npm install` would lay it out, with the packages of this repository in the place of downloaded ones. */
async function installBesidePeers(folder: string): Promise<void> {
  const modules = join(folder, 'node_modules');
  await mkdir(modules);
  for (const name of await readdir('node_modules')) {
    if (!name.startsWith('.')) await symlink(resolve('node_modules', name), join(modules, name));
  }
  await symlink(join(folder, 'package'), join(modules, 'nestjs-delay-queue'));
}
