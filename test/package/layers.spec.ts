import { execFile } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const run = promisify(execFile);

// In a variable, since a file without types is imported.
const CONFIGURATION = '../../.dependency-cruiser.mjs';

/** What a file in this folder must not import: another folder, or a package. */
const REFUSED = [
  ['lib/errors', 'lib/messages'],
  ['lib/checks', 'lib/messages'],
  ['lib/time', 'rxjs'],
  ['lib/messages', 'lib/store'],
  ['lib/messages', 'lib/events'],
  ['lib/middleware', 'lib/producer'],
  ['lib/middleware', 'lib/consumer'],
  ['lib/store', 'lib/engines/redis'],
  ['lib/store', 'lib/engines/embedded'],
  ['lib/store', 'lib/events'],
  ['lib/store', 'ioredis'],
  ['lib/store/lua', 'lib/store'],
  ['lib/engines/embedded', 'ioredis'],
  ['lib/engines/embedded', 'lib/fleet'],
  ['lib/engines/embedded', 'lib/engines/redis'],
  ['lib/engines/redis', 'lib/engines/embedded'],
  ['lib/engines/redis', 'lib/consumer'],
  ['lib/engines/redis/connection', 'lib/engines/redis/scripts'],
  ['lib/events', 'lib/fleet'],
  ['lib/events', '@nestjs/common'],
  ['lib/fleet', 'lib/admin'],
  ['lib/producer', 'lib/consumer'],
  ['lib/producer', 'lib/admin'],
  ['lib/producer', 'ioredis'],
  ['lib/consumer', 'lib/producer'],
  ['lib/consumer', 'lib/monitoring'],
  ['lib/consumer/upkeep', 'lib/consumer/delivery'],
  ['lib/consumer/admission', 'lib/consumer/delivery'],
  // What is behind the admission.
  ['lib/consumer/delivery', 'lib/consumer/admission'],
  ['lib/consumer/delivery', 'lib/consumer/ownership'],
  ['lib/consumer', 'lib/engines/redis'],
  ['lib/consumer', '@nestjs/common'],
  ['lib/consumer', 'lib/composition'],
  ['lib/admin', 'lib/consumer'],
  ['lib/admin', 'lib/monitoring'],
  ['lib/admin', 'lib/admin/catalogue'],
  ['lib/monitoring', 'lib/consumer'],
  ['lib/composition', 'lib/nest/module'],
  ['lib/composition', '@nestjs/core'],
  ['lib/composition', 'lib/testing'],
  ['lib/composition', 'prom-client'],
  ['lib/nest/decorators', 'lib/producer'],
  ['lib/nest/decorators', 'lib/nest/handlers'],
  ['lib/nest/decorators', 'lib/composition'],
  ['lib/nest/handlers', 'lib/nest/module'],
  ['lib/nest/handlers', 'lib/index'],
  ['lib/nest/module', 'lib/testing'],
  ['lib/nest/module', 'lib/opentelemetry'],
  ['lib/nest/module', '@nestjs/terminus'],
  ['lib/index', 'lib/testing'],
  ['lib/testing', 'lib/index'],
  ['lib/testing', 'vitest'],
  ['lib/terminus', 'lib/monitoring'],
  ['lib/outbox/table', 'lib/outbox/relay'],
  ['lib/outbox/relay', 'lib/composition'],
  ['lib/outbox/knex', 'knex'],
  ['lib/outbox/typeorm', 'lib/outbox/knex'],
  ['lib/outbox', 'lib/consumer'],
  ['lib/composition', 'lib/outbox'],
  ['lib/dashboard', 'lib/admin'],
  ['lib/dashboard', 'lib/store'],
  ['lib/dashboard', 'lib/gateway'],
  ['lib/gateway', 'lib/producer'],
  ['lib/gateway', 'lib/consumer/pulling'],
  ['lib/prometheus', 'lib/monitoring'],
  ['lib/opentelemetry', 'lib/middleware'],
  ['lib/prometheus', '@nestjs/common'],
  ['lib/opentelemetry', '@nestjs/common'],
  ['lib/http', '@nestjs/common'],
  ['lib/cli', '@nestjs/common'],
  ['lib/cli', 'lib/http/mount'],
  ['lib/cli', 'lib/nest/module'],
  ['lib/cli', 'lib/engines/redis/connection'],
  ['lib/cli', 'lib/index'],
  ['lib/cli', 'ioredis'],
  ['lib/composition', 'lib/cli'],
  ['lib/composition', 'tools/import-bullmq'],
  ['tools/import-bullmq', 'lib/cli'],
  ['tools/import-bullmq', 'lib/producer'],
  ['tools/import-bullmq', 'ioredis'],
] as const;

const ALLOWED = [
  ['lib/messages', 'lib/errors'],
  ['lib/errors', 'lib/checks'],
  ['lib/engines/redis', 'ioredis'],
  ['lib/consumer', 'lib/fleet'],
  ['lib/composition', 'lib/engines/redis'],
  ['lib/nest/module', 'lib/composition'],
  ['lib/engines/embedded', 'lib/store'],
  ['lib/testing', 'lib/engines/embedded'],
  ['lib/cli', 'tools/import-bullmq'],
] as const;

describe('the linter', () => {
  let folder: string;
  let report: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'delay-queue-layers-'));
    for (const file of ['.dependency-cruiser.mjs', 'tsconfig.json']) await copyFile(file, join(folder, file));
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    for (const [, to] of [...REFUSED, ...ALLOWED]) {
      if (isOurs(to) && to !== 'lib/index') await plant(`${to}/target.ts`, 'export const planted = 1;\n');
    }
    for (const [from, to] of [...REFUSED, ...ALLOWED]) await plant(fileOf(from, to), importOf(from, to));
    await plant('lib/consumer/one.ts', "import type { Two } from './two.js';\nexport interface One { two: Two }\n");
    await plant('lib/consumer/two.ts', "import type { One } from './one.js';\nexport interface Two { one: One }\n");
    await plant(
      'lib/cli/imports-types.ts',
      "import type { planted } from '../index.js';\nexport type Used = typeof planted;\n",
    );
    const depcruise = resolve('node_modules/.bin/depcruise');
    ({ stdout: report } = await run(depcruise, ['--output-type', 'err', 'lib', 'tools'], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    ));
  });

  afterAll(async () => {
    await rm(folder, { recursive: true });
  });

  it.each(REFUSED)('refuses that %s imports %s', (from, to) => {
    expect(report).toContain(`${fileOf(from, to)} → `);
  });

  it.each(ALLOWED)('accepts that %s imports %s', (from, to) => {
    expect(report).not.toContain(`${fileOf(from, to)} → `);
  });

  it('accepts that a face imports types of the entry', () => {
    expect(report).not.toContain('lib/cli/imports-types.ts → ');
  });

  it('lists no inner file that a face does not need', async () => {
    const { INNER } = (await import(CONFIGURATION)) as { INNER: Readonly<Record<string, readonly string[]>> };
    for (const [face, files] of Object.entries(INNER)) {
      const imported = new Set(importedBy(`lib/${face}`));
      expect(files.filter((file) => !imported.has(`lib/${file}.js`))).toEqual([]);
    }
  });

  it('refuses two files that import types of each other', () => {
    expect(report).toMatch(/no-circle: lib\/consumer\/(one|two)\.ts/);
  });

  async function plant(file: string, text: string): Promise<void> {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
});

function fileOf(from: string, to: string): string {
  const name = to.replaceAll(/[/@]/g, '-');
  return from === 'lib/index' ? 'lib/index.ts' : `${from}/imports-${name}.ts`;
}

function importOf(from: string, to: string): string {
  const path = isOurs(to) ? relativePath(dirname(fileOf(from, to)), to) : to;
  return `import * as planted from '${path}';\nexport const used = planted;\n`;
}

/** Whether it is a folder, and no package. */
function isOurs(to: string): boolean {
  return /^(lib|tools)\//.test(to);
}

function relativePath(from: string, to: string): string {
  const path = relative(from, to === 'lib/index' ? 'lib/index.js' : `${to}/target.js`);
  return path.startsWith('.') ? path : `./${path}`;
}

/** What the files of a folder import, by their paths from the root folder. */
function importedBy(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
  return files.flatMap((file) => {
    const path = join(folder, file);
    const imports = readFileSync(path, 'utf8').matchAll(/ from '(\.[^']+)'/g);
    return Array.from(imports, ([, to = '']) => join(dirname(path), to));
  });
}
