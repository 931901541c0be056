import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { SetupFailure } from './failure.mjs';
import { ROOT, localBin, runQuietly } from './run.mjs';

const SAMPLES = 'sample';
const FORMATS = ['esm', 'cjs'];
const BUILD_SETTINGS = [
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'scripts/build.mjs',
  'scripts/setup/answer-table.mjs',
  'scripts/setup/bundle.mjs',
  'scripts/setup/client-types.mjs',
  'scripts/setup/client-types/go.mjs',
  'scripts/setup/client-types/php.mjs',
  'scripts/setup/client-types/python.mjs',
  'scripts/setup/client-types/schemas.mjs',
  'scripts/setup/lua-blocks.mjs',
  'scripts/setup/lua-heads.mjs',
  'scripts/setup/lua-modules.mjs',
  'scripts/setup/lua-names.mjs',
  'scripts/setup/lua-script-table.mjs',
  'scripts/setup/lua-scripts.mjs',
  'scripts/setup/lua-translator.mjs',
  'scripts/setup/public-types.mjs',
  'scripts/setup/translated-names.mjs',
];

/** Builds the library into dist, if dist is not up to date with lib. */
export async function ensureLibraryBuilt() {
  if (isBuilt()) return;
  console.log('Building the library …');
  await runQuietly(process.execPath, ['scripts/build.mjs']);
}

/** The application of the tests of the dashboard's pages, once it is built. */
export const SHOP = 'dist-sample/dashboard-shop/main.js';

/** Builds {@link SHOP}, which imports the built library. */
export async function buildShop() {
  const { bundle } = await import('./bundle.mjs');
  const output = { file: SHOP, format: 'esm' };
  await bundle({ main: 'test/extended/dashboard/shop/main.ts' }, output, ['nestjs-delay-queue', 'reflect-metadata']);
}

/** Compiles a sample against the built library. */
export async function buildSample(name) {
  console.log('Building the sample …');
  await runQuietly(localBin('nest'), ['build', name]);
}

/**
 * The applications of a sample, as {@link buildSample} compiles them: the files at the top of its folder without a role in
 * their name, such as `main.ts`.
 *
 * @throws {SetupFailure} if there is no such sample
 */
export function applicationsOf(sample) {
  const samples = readdirSync(join(ROOT, SAMPLES));
  if (!samples.includes(sample)) {
    throw new SetupFailure(`There is no sample "${sample}". There are: ${samples.join(', ')}.`);
  }
  const applications = readdirSync(join(ROOT, SAMPLES, sample)).filter((file) => /^\w+\.ts$/.test(file));
  return applications.map((file) => join(`dist-${SAMPLES}`, sample, file.replace(/\.ts$/, '.js')));
}

/** Compiles the benchmark against the built library and returns the path of its entry. */
export async function buildBench() {
  console.log('Building the benchmark …');
  await runQuietly(localBin('tsc'), ['--project', 'bench']);
  // One contender uses parts that the library does not export.
  const { bundle } = await import('./bundle.mjs');
  await bundle({ internals: 'bench/internals.ts' }, { dir: 'dist-bench', format: 'esm' });
  return 'dist-bench/main.js';
}

/** Compiles the benchmark of the outbox against the built library and returns the path of its entry. */
export async function buildOutboxBench() {
  console.log('Building the benchmark …');
  const { bundle } = await import('./bundle.mjs');
  const packages = ['nestjs-delay-queue', 'knex', 'kysely', 'mysql2', 'pg', 'typeorm'];
  const programs = { main: 'bench/outbox/main.ts', shop: 'bench/outbox/shop.ts' };
  await bundle(programs, { dir: 'dist-bench/outbox', format: 'esm' }, packages);
  return 'dist-bench/outbox/main.js';
}

/** Programs and pages are not imported, so they have no declarations. */
const PROGRAMS = 'cli/';
const PAGES = 'dashboard/browser/';

/** Sources of the programs outside of lib. */
const TOOLS = 'tools';

/** Whether dist has exactly the declarations of all source files, and nothing older than a source or a setting. */
function isBuilt() {
  const sources = filesIn('lib');
  const outputs = filesIn('dist');
  const imported = sources.filter(
    (file) => /(?<!\.d)\.ts$/.test(file) && !file.startsWith(PROGRAMS) && !file.startsWith(PAGES),
  );
  const declared = imported.map((file) => file.replace(/\.ts$/, '.d.ts'));
  const expected = FORMATS.flatMap((format) => declared.map((file) => join(format, file)));
  const declarations = outputs.filter((file) => file.endsWith('.d.ts'));
  if (expected.length !== declarations.length || !expected.every((file) => declarations.includes(file))) return false;
  const entries = [
    ...FORMATS.map((format) => join(format, 'index.js')),
    join('cjs', PROGRAMS, 'index.js'),
    'dashboard/index.html',
  ];
  if (!entries.every((file) => outputs.includes(file))) return false;
  const newest = Math.max(
    ...sources.map((file) => timeOf('lib', file)),
    ...filesIn(TOOLS).map((file) => timeOf(TOOLS, file)),
    ...BUILD_SETTINGS.map((file) => timeOf(file)),
  );
  return outputs.every((file) => timeOf('dist', file) >= newest);
}

function filesIn(folder) {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { recursive: true }).filter((file) =>
    /\.(tsx?|js|lua|css|html|svg)$/.test(file),
  );
}

function timeOf(...path) {
  return statSync(join(ROOT, ...path)).mtimeMs;
}
