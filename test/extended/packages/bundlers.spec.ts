import { randomUUID } from 'node:crypto';
import { copyFile, cp, mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { compileApps, greeterOutput, runGreeter } from '../../support/package/greeter.js';
import { onceARun } from '../../support/package/once-a-run.js';
import { packLibrary } from '../../support/package/packed-library.js';
import { runProgram } from '../../support/package/run-program.js';
import { install } from '../../support/package/npm-install.js';

/** Packages that Nest loads only if they are installed; bundlers have to leave them out. */
const OPTIONAL = [
  '@nestjs/microservices',
  '@nestjs/websockets',
  '@nestjs/platform-express',
  'class-validator',
  'class-transformer',
];

const ESBUILD = [
  'esbuild',
  'greeter.js',
  '--bundle',
  '--platform=node',
  '--log-level=error',
  ...OPTIONAL.map((name) => `--external:${name}`),
];

/** Defines `require` for CommonJS dependencies, as users of esbuild do in ES modules. */
const REQUIRE =
  "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);";

const WEBPACK_CONFIG = `
const { IgnorePlugin } = require('webpack');
const optional = ${JSON.stringify(OPTIONAL)};
const isOptional = (request) => optional.some((name) => request === name || request.startsWith(name + '/'));
const isPackage = ({ request }, done) => (/^[a-z@]/.test(request) ? done(null, 'commonjs ' + request) : done());
module.exports = ({ externals }) => ({
  mode: 'production',
  target: 'node20',
  entry: './greeter.js',
  externals: externals ? [isPackage] : [],
  plugins: [new IgnorePlugin({ checkResource: isOptional })],
  output: { filename: 'bundle.cjs' },
});
`;

const VITE_CONFIG = `
// The library becomes part of the file; everything else is loaded at run time.
export default { build: { target: 'node20' }, ssr: { noExternal: ['nestjs-delay-queue'] } };
`;

const SWC_CONFIG = JSON.stringify({
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    target: 'es2022',
  },
  module: { type: 'commonjs' },
});

interface Tool {
  readonly tool: string;
  readonly command: readonly string[];
  /** The file that it makes of `greeter.js`. */
  readonly file: string;
  /** Whether that file runs without any package. */
  readonly alone: boolean;
}

const TOOLS: readonly Tool[] = [
  {
    tool: 'esbuild, to CommonJS',
    command: [...ESBUILD, '--outfile=esbuild/bundle.cjs'],
    file: 'esbuild/bundle.cjs',
    alone: true,
  },
  {
    tool: 'esbuild, to an ES module',
    command: [...ESBUILD, '--format=esm', '--outfile=esbuild/bundle.mjs', `--banner:js=${REQUIRE}`],
    file: 'esbuild/bundle.mjs',
    alone: true,
  },
  { tool: 'ncc', command: ['ncc', 'build', 'greeter.js', '--out', 'ncc'], file: 'ncc/index.js', alone: true },
  {
    tool: 'webpack',
    command: ['webpack', '--output-path', 'webpack'],
    file: 'webpack/bundle.cjs',
    alone: true,
  },
  {
    tool: 'webpack with externals',
    command: ['webpack', '--output-path', 'externals', '--env', 'externals'],
    file: 'externals/bundle.cjs',
    alone: false,
  },
  {
    tool: 'Vite',
    command: ['vite', 'build', '--ssr', 'greeter.js', '--outDir', 'vite'],
    file: 'vite/greeter.mjs',
    alone: false,
  },
  {
    tool: 'SWC',
    command: ['swc', 'greeter.ts', '-o', 'swc.js', '--config-file', 'swc.json'],
    file: 'swc.js',
    alone: false,
  },
];

describe('an application that is bundled into one file', () => {
  let folder: string;

  beforeAll(async () => {
    const { tarball } = await packLibrary();
    const installation = await onceARun('bundlers', async (target) =>
      install(target, {
        'nestjs-delay-queue': tarball,
        '@nestjs/common': '^12.0.0',
        '@nestjs/core': '^12.0.0',
        '@nestjs/testing': '^12.0.0',
        ioredis: '^6.0.0',
        'reflect-metadata': '^0.2.0',
        rxjs: '^7.0.0',
        '@types/node': '^20.0.0',
        '@swc/cli': '*',
        '@swc/core': '*',
        '@vercel/ncc': '*',
        esbuild: '*',
        vite: '*',
        webpack: '*',
        'webpack-cli': '*',
      }),
    );
    folder = await compileApps(installation, { type: 'commonjs', compilerOptions: { module: 'nodenext' } });
    await copyFile('test/package/apps/greeter.ts', join(folder, 'greeter.ts'));
    await writeFile(join(folder, 'webpack.config.cjs'), WEBPACK_CONFIG);
    await writeFile(join(folder, 'vite.config.mjs'), VITE_CONFIG);
    await writeFile(join(folder, 'swc.json'), SWC_CONFIG);
  });

  it.each(TOOLS)(
    'boots, publishes and handles: $tool',
    async ({ command: [tool = '', ...args], file, alone }) => {
      await runProgram(join(folder, '../node_modules/.bin', tool), args, { cwd: folder });
      const place = alone ? await movedAway(join(folder, dirname(file))) : join(folder, dirname(file));

      // Some bundlers make `NODE_ENV` 'production' for good.
      for (const redis of [inject('redisUrl'), 'embedded:?allowProduction']) {
        const [, ...lines] = await runGreeter(place, { file: basename(file), redis });
        expect(lines, redis).toEqual(greeterOutput('commonjs').slice(1));
      }
    },
    120_000,
  );
});

/** Moves a bundler's output to a folder where no package can be found. */
async function movedAway(output: string): Promise<string> {
  const place = join(inject('runFolder'), `alone-${randomUUID()}`);
  await mkdir(place);
  await cp(output, place, { recursive: true });
  await writeFile(join(place, 'package.json'), JSON.stringify({ type: 'commonjs' }));
  return place;
}
