import { copyFile, cp, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type AppStyle, compileApps, greeterOutput, runGreeter } from '../../support/package/greeter.js';
import { readJson } from '../../support/package/read-json.js';
import { runProgram } from '../../support/package/run-program.js';
import { installOnNest11, versionOf } from '../../support/package/npm-install.js';

/** The part of vitest's report that is read here. */
interface Report {
  readonly numTotalTests: number;
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

const NEST_PACKAGES = ['common', 'core', 'testing', 'platform-express', 'platform-fastify'];

const STYLES: readonly AppStyle[] = [
  // As in Nest's own starter for years; this version of TypeScript needs `ignoreDeprecations` for it.
  { type: 'commonjs', compilerOptions: { module: 'commonjs', moduleResolution: 'node10', ignoreDeprecations: '6.0' } },
  { type: 'module', compilerOptions: { module: 'nodenext' } },
];

describe('on Nest 11', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await installOnNest11();
  });

  it.each(NEST_PACKAGES)('the library gets version 11 of @nestjs/%s', async (name) => {
    expect(await versionOf(`@nestjs/${name}`, join(folder, 'node_modules/nestjs-delay-queue'))).toMatch(/^11\./);
  });

  it.each(STYLES)(
    'an application handles a message and has one refused: type $type',
    async (style) => {
      const app = await compileApps(folder, style);

      expect(await runGreeter(app)).toEqual(greeterOutput(style.type));
      expect(await runProgram(process.execPath, ['month.js'], { cwd: app, timeout: 120_000 })).toBe(
        'remembered Ada after 30 days',
      );
    },
    120_000,
  );

  it('the sources in the package pass the tests of their integration with Nest', async () => {
    await copyFile('tsconfig.json', join(folder, 'tsconfig.json'));
    await copyFile('test/extended/packages/nest-11/vitest.config.mjs', join(folder, 'vitest.config.mjs'));
    await cp('scripts', join(folder, 'scripts'), { recursive: true });
    await cp('test', join(folder, 'test'), { recursive: true });
    await cp(join(folder, 'node_modules/nestjs-delay-queue/lib'), join(folder, 'lib'), { recursive: true });

    const report = await runTests(folder);
    const files = report.testResults.map(({ name }) => relative(join(folder, 'test/e2e/nest'), name));
    const expected = (await readdir('test/e2e/nest', { recursive: true })).filter((file) => file.endsWith('.spec.ts'));

    expect(files).toEqual(expect.arrayContaining(expected));
    expect(report.numPassedTests).toBeGreaterThan(0);
    expect(report.numPassedTests).toBe(report.numTotalTests);
  });
});

/** @throws if vitest has not come to its end, or a test fails: with what it says of itself */
async function runTests(folder: string): Promise<Report> {
  const file = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const outer = Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST'));
  const env = Object.fromEntries(outer);
  const ended = runProgram('node_modules/.bin/vitest', ['run', ...reporters], { cwd: folder, env });
  const failure = await ended.then(
    () => undefined,
    (error: unknown) => error as Error,
  );
  const report = await readJson<Report>(file).catch(() => undefined);
  const tests = report?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? [];
  const failed = tests.filter(({ status }) => status === 'failed');
  if (failed.length > 0)
    throw new Error(
      failed.map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages.join('\n')}`).join('\n'),
    );
  if (failure || !report) throw failure ?? new Error('vitest has written no report.');
  return report;
}
