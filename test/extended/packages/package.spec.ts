import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type AppStyle, compileApps, greeterOutput, runGreeter } from '../../support/package/greeter.js';
import { installOnNest12 } from '../../support/package/installations.js';
import { onceARun } from '../../support/package/once-a-run.js';
import { packLibrary } from '../../support/package/packed-library.js';
import { runProgram } from '../../support/package/run-program.js';
import { install } from '../../support/package/npm-install.js';

const STYLES: readonly AppStyle[] = [
  { type: 'commonjs', compilerOptions: { module: 'nodenext' } },
  { type: 'module', compilerOptions: { module: 'nodenext' } },
];

/** Majors of Node besides the running one, installed by the package `node` of the registry. */
const NODES = [22, 24] as const;
const NODE_PACKAGE = `node-${process.platform}-${process.arch}`;

describe('the packed library', () => {
  let tarball: string;
  let tools: string;

  beforeAll(async () => {
    ({ tarball } = await packLibrary());
    tools = await onceARun('package-tools', async (target) =>
      install(target, {
        publint: '*',
        '@arethetypeswrong/cli': '*',
        ...Object.fromEntries(NODES.map((major) => [`node-${major}`, `npm:${NODE_PACKAGE}@${major}`])),
      }),
    );
  });

  it('passes publint', async () => {
    expect(await runProgram(join(tools, 'node_modules/.bin/publint'), [tarball, '--strict'])).toContain('All good');
  });

  it('has correct types for every kind of import, on every entry', async () => {
    // attw fails if it finds anything.
    const output = await runProgram(join(tools, 'node_modules/.bin/attw'), [tarball, '--no-emoji']);
    expect(output).toContain('No problems found');
    expect(output).toContain('nestjs-delay-queue/testing');
  });

  const cases = NODES.flatMap((major) => STYLES.map((style) => ({ major, ...style })));

  it.each(cases)(
    'handles a message and has one refused: Node $major, type $type',
    async ({ major, ...style }) => {
      const node = join(tools, `node_modules/node-${major}/bin/node`);
      expect(await runProgram(node, ['--version'])).toMatch(new RegExp(`^v${major}\\.`));

      const app = await compileApps(await installOnNest12(), style);
      expect(await runGreeter(app, { node })).toEqual(greeterOutput(style.type));
    },
    120_000,
  );

  it.each(NODES)('serves the dashboard in a CommonJS application: Node %i', async (major) => {
    const folder = await installOnNest12();
    await copyFile('test/package/apps/dashboard.cjs', join(folder, 'dashboard.cjs'));
    const node = join(tools, `node_modules/node-${major}/bin/node`);
    expect(await runGreeter(folder, { file: 'dashboard.cjs', node })).toEqual([
      '200 text/html; charset=utf-8 <!doctype html>',
      expect.stringMatching(/^200 application\/json; charset=utf-8 \{"/),
    ]);
  });
});
