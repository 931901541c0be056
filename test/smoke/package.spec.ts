import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { installOnNest11, installOnNest12, versionOf } from './support/installations.js';
import { packLibrary } from './support/packed-library.js';
import { readJson } from './support/read-json.js';
import { runProgram } from './support/run-program.js';

describe('the packed library', () => {
  let files: readonly string[];

  beforeAll(async () => {
    ({ files } = await packLibrary());
  }, 60_000);

  it('holds the built code, the Lua scripts and the documents, and nothing else', () => {
    expect(files).toContain('dist/index.js');
    expect(files).toContain('dist/index.d.ts');
    expect(files).toContain('dist/broker/redis/lua/claim.lua');
    expect(files).toContain('dist/broker/redis/lua/includes/now.lua');
    const others = files.filter((path) => !path.startsWith('dist/'));
    expect(others.toSorted()).toEqual(['LICENSE', 'README.md', 'package.json']);
  });

  it('has every file that its manifest names', async () => {
    const { main, types, exports } = await readJson<Record<'main' | 'types' | 'exports', unknown>>('package.json');
    const named = pathsIn([main, types, exports]);

    expect(named).toContain('./dist/index.d.ts');
    expect(named.filter((path) => !files.includes(path.replace('./', '')))).toEqual([]);
  });
});

/** All strings in a part of a manifest. */
function pathsIn(part: unknown): string[] {
  return typeof part === 'string' ? [part] : Object.values(part as object).flatMap(pathsIn);
}

/** How an application is written, and which Nest it is on. */
interface Consumer {
  readonly nest: 11 | 12;
  /** `type` of its package.json. */
  readonly type: 'commonjs' | 'module';
  /** Of its tsconfig.json. */
  readonly compilerOptions: Readonly<Record<string, string>>;
}

const NODE_NEXT = { module: 'nodenext' };
/** As Nest's own starter had it for years; this version of TypeScript wants to be asked twice. */
const CLASSIC = { module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' };

const CONSUMERS: readonly Consumer[] = [
  { nest: 11, type: 'commonjs', compilerOptions: CLASSIC },
  { nest: 11, type: 'module', compilerOptions: NODE_NEXT },
  { nest: 12, type: 'commonjs', compilerOptions: NODE_NEXT },
  { nest: 12, type: 'module', compilerOptions: NODE_NEXT },
];

describe('an application that has installed the packed library', () => {
  let folders: Record<Consumer['nest'], string>;
  const compilations = new Map<Consumer, Promise<string>>();

  beforeAll(async () => {
    folders = { 11: await installOnNest11(), 12: await installOnNest12() };
  }, 300_000);

  /** Both programs at once: most of the time goes into declarations, which they share. */
  function compiled(consumer: Consumer): Promise<string> {
    const known = compilations.get(consumer);
    if (known) return known;
    const compilation = compile(folders[consumer.nest], ['greeter.ts', 'month.ts'], consumer);
    compilations.set(consumer, compilation);
    return compilation;
  }

  it.each([11, 12] as const)('is really on Nest %i', async (nest) => {
    expect(await versionOf('@nestjs/core', folders[nest])).toMatch(new RegExp(`^${nest}\\.`));
  });

  it.concurrent.each(CONSUMERS)(
    'compiles, handles a message and has one refused: Nest $nest, type $type, module $compilerOptions.module',
    async (consumer) => {
      const folder = await compiled(consumer);
      const env = { ...process.env, REDIS_URL: inject('redisUrl'), PREFIX: `smoke-${randomUUID()}` };
      const output = await runProgram(process.execPath, ['greeter.js'], { cwd: folder, env, timeout: 30_000 });

      expect(output.split('\n')).toEqual([
        consumer.type === 'commonjs' ? 'a CommonJS module' : 'an ES module',
        'heard hello from Ada (attempt 1)',
        'refused: unrecoverable',
      ]);
    },
    120_000,
  );

  it.concurrent.each(CONSUMERS)(
    'has a testing kit, which leaves nothing open: Nest $nest, type $type, module $compilerOptions.module',
    async (consumer) => {
      const folder = await compiled(consumer);
      const output = await runProgram(process.execPath, ['month.js'], { cwd: folder, timeout: 30_000 });

      expect(output).toBe('remembered Ada after 30 days');
    },
    120_000,
  );
});

/** @returns the folder with the JavaScript */
async function compile(
  installation: string,
  programs: readonly string[],
  { type, compilerOptions }: Consumer,
): Promise<string> {
  const folder = join(installation, `app-${randomUUID()}`);
  await mkdir(folder);
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type }));
  const settings = {
    ...compilerOptions,
    target: 'ES2023',
    lib: ['ES2023'],
    types: ['node'],
    strict: true,
    // The declarations of the library, and those of Nest and ioredis that they name, are looked at as well.
    skipLibCheck: false,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: settings, files: programs }));
  await Promise.all(programs.map((program) => copyFile(join('test/smoke/apps', program), join(folder, program))));
  await runProgram(resolve('node_modules/.bin/tsc'), ['--project', folder]);
  return folder;
}
