import { resolve } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { type AppStyle, compileApps, greeterOutput, runGreeter } from '../../support/package/greeter.js';
import { onceARun } from '../../support/package/once-a-run.js';
import { packLibrary } from '../../support/package/packed-library.js';
import { runProgram } from '../../support/package/run-program.js';
import { install } from '../../support/package/npm-install.js';

/** The oldest supported version and the newest; in the long form, also those that changed module resolution. */
const VERSIONS = inject('soak') ? ['5.4', '5.7', '5.9', '6.0', '7.0'] : ['5.4', '7.0'];

interface Setting extends AppStyle {
  /** The last version that knows it. */
  readonly until?: number;
}

const SETTINGS: readonly Setting[] = [
  { type: 'commonjs', compilerOptions: { module: 'commonjs', moduleResolution: 'node10' }, until: 5.9 },
  { type: 'commonjs', compilerOptions: { module: 'node16' } },
  { type: 'commonjs', compilerOptions: { module: 'nodenext' } },
  { type: 'module', compilerOptions: { module: 'node16' } },
  { type: 'module', compilerOptions: { module: 'nodenext' } },
  { type: 'module', compilerOptions: { module: 'es2022', moduleResolution: 'bundler' } },
  { type: 'module', compilerOptions: { module: 'preserve', moduleResolution: 'bundler' } },
];

const CASES = VERSIONS.flatMap((version) =>
  SETTINGS.filter(({ until = Infinity }) => Number(version) <= until).map((setting) => ({ version, ...setting })),
);

describe('an application on Nest 11', () => {
  let folder: string;

  beforeAll(async () => {
    const { tarball } = await packLibrary();
    folder = await onceARun('typescript', async (target) =>
      install(target, {
        'nestjs-delay-queue': tarball,
        '@nestjs/common': '^11.0.0',
        '@nestjs/core': '^11.0.0',
        '@nestjs/testing': '^11.0.0',
        ioredis: '^6.0.0',
        'reflect-metadata': '^0.2.0',
        rxjs: '^7.0.0',
        '@types/node': '^20.0.0',
        ...Object.fromEntries(VERSIONS.map((version) => [`typescript-${version}`, `npm:typescript@~${version}.0`])),
      }),
    );
  });

  it.each(CASES)(
    'compiles and runs: TypeScript $version, type $type, $compilerOptions',
    async ({ version, type, compilerOptions }) => {
      const tsc = resolve(folder, `node_modules/typescript-${version}/bin/tsc`);
      expect(await runProgram(process.execPath, [tsc, '--version'])).toContain(`Version ${version}.`);

      // Some declarations of Nest need a newer compiler than the oldest one here.
      const app = await compileApps(folder, { type, compilerOptions: { ...compilerOptions, skipLibCheck: true } }, [
        process.execPath,
        tsc,
      ]);
      expect(await runGreeter(app)).toEqual(greeterOutput(type));
    },
    120_000,
  );
});
