import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
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
