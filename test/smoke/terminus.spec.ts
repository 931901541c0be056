import { randomUUID } from 'node:crypto';
import { copyFile, cp, mkdir, readdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { onceARun } from './support/once-a-run.js';
import { packLibrary } from './support/packed-library.js';
import { runProgram } from './support/run-program.js';

const OPTIONAL = '@nestjs/terminus';

describe('the packed library where @nestjs/terminus is not installed', () => {
  let folder: string;

  beforeAll(async () => {
    const { tarball } = await packLibrary();
    folder = await onceARun('no-terminus', async (target) => {
      const modules = join(target, 'node_modules');
      await mkdir(join(modules, '@nestjs'), { recursive: true });
      await runProgram('tar', ['-xzf', tarball], { cwd: target });
      await cp(join(target, 'package'), join(modules, 'nestjs-delay-queue'), { recursive: true });
      const nest = (await readdir('node_modules/@nestjs')).map((name) => `@nestjs/${name}`);
      for (const name of [...(await readdir('node_modules')), ...nest]) {
        if (name.startsWith('.') || name === '@nestjs' || name === OPTIONAL) continue;
        await symlink(resolve('node_modules', name), join(modules, name));
      }
      await copyFile('test/smoke/apps/no-terminus.mjs', join(target, 'no-terminus.mjs'));
    });
  }, 60_000);

  it('boots, and says what to install once its indicator is used', async () => {
    const env = { ...process.env, REDIS_URL: inject('redisUrl'), PREFIX: `smoke-${randomUUID()}` };
    const output = await runProgram(process.execPath, ['no-terminus.mjs'], { cwd: folder, env, timeout: 30_000 });

    expect(output.split('\n')).toEqual([
      'booted',
      "CONFIGURATION: Health indicators need the package '@nestjs/terminus'. Install it: npm install @nestjs/terminus",
    ]);
  }, 60_000);
});
