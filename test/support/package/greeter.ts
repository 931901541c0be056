import { randomUUID } from 'node:crypto';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { inject } from 'vitest';
import { runProgram } from './run-program.js';

/** How an application is written. */
export interface AppStyle {
  /** `type` of its package.json. */
  readonly type: 'commonjs' | 'module';
  /** Of its tsconfig.json. */
  readonly compilerOptions: Readonly<Record<string, string | boolean>>;
}

const PROGRAMS = ['greeter.ts', 'month.ts'];

/**
 * Compiles the programs of `test/package/apps` in an installation of the packed library. Both at once: most of the time goes into
 * declarations, which they share.
 *
 * @param compiler the command that runs it
 * @returns the folder with the JavaScript
 */
export async function compileApps(
  installation: string,
  { type, compilerOptions }: AppStyle,
  compiler: readonly [string, ...string[]] = [resolve('node_modules/.bin/tsc')],
): Promise<string> {
  const folder = join(installation, `app-${randomUUID()}`);
  await mkdir(folder);
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type }));
  const settings = {
    target: 'ES2022',
    lib: ['ES2023'],
    types: ['node'],
    strict: true,
    // The declarations of the library, and those of Nest and ioredis that they name, are looked at as well.
    skipLibCheck: false,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    ...compilerOptions,
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: settings, files: PROGRAMS }));
  await Promise.all(PROGRAMS.map((program) => copyFile(join('test/package/apps', program), join(folder, program))));
  const [command, ...args] = compiler;
  await runProgram(command, [...args, '--project', folder]);
  return folder;
}

/** What `greeter.ts` prints once it has published, handled a message and had one refused on a real Redis. */
export function greeterOutput(type: AppStyle['type']): string[] {
  return [
    type === 'commonjs' ? 'a CommonJS module' : 'an ES module',
    'heard hello from Ada (attempt 1)',
    'refused: unrecoverable',
  ];
}

export interface GreeterRun {
  readonly file?: string;
  readonly node?: string;
  readonly redis?: string;
}

/** Runs a compiled or bundled `greeter.ts`. */
export async function runGreeter(
  folder: string,
  { file = 'greeter.js', node = process.execPath, redis = inject('redisUrl') }: GreeterRun = {},
): Promise<string[]> {
  const env = { ...process.env, REDIS_URL: redis, PREFIX: `smoke-${randomUUID()}` };
  const output = await runProgram(node, [file], { cwd: folder, env, timeout: 120_000 });
  return output.split('\n');
}
