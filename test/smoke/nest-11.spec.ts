import { copyFile, cp, readdir, symlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { installOnNest11, versionOf } from './support/installations.js';
import { readJson } from './support/read-json.js';
import { runProgram } from './support/run-program.js';

/** What is read of vitest's report. */
interface Report {
  readonly numTotalTests: number;
  readonly numPassedTests: number;
  readonly testResults: readonly { readonly name: string }[];
}

const NEST_PACKAGES = ['common', 'core', 'testing', 'platform-express', 'platform-fastify'];

describe('on Nest 11', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await installOnNest11();
    await copyFile('tsconfig.json', join(folder, 'tsconfig.json'));
    await copyFile('test/smoke/nest-11/vitest.config.ts', join(folder, 'vitest.config.ts'));
    await cp('test', join(folder, 'test'), { recursive: true });
    // So tests that look behind the package's entry see what the entry is made of, not a second copy of it.
    await symlink('node_modules/nestjs-delay-queue/dist', join(folder, 'lib'));
  }, 300_000);

  it.each(NEST_PACKAGES)('the tests and the library get version 11 of @nestjs/%s', async (name) => {
    for (const user of ['test/nest', 'lib']) {
      expect(await versionOf(`@nestjs/${name}`, join(folder, user))).toMatch(/^11\./);
    }
  });

  it('the packed library passes the tests of how it meets Nest', async () => {
    const report = await runTests(folder);
    const files = report.testResults.map(({ name }) => relative(join(folder, 'test/nest'), name));
    const expected = (await readdir('test/nest', { recursive: true })).filter((file) => file.endsWith('.spec.ts'));

    expect(files).toEqual(expect.arrayContaining(expected));
    expect(report.numPassedTests).toBeGreaterThan(0);
    expect(report.numPassedTests).toBe(report.numTotalTests);
  }, 300_000);
});

/** @throws where a test fails; the message has what vitest said of it */
async function runTests(folder: string): Promise<Report> {
  const file = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const outer = Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST'));
  const env = { ...Object.fromEntries(outer), REDIS_URL: inject('redisUrl') };
  await runProgram('node_modules/.bin/vitest', ['run', ...reporters], { cwd: folder, env });
  return readJson<Report>(file);
}
