import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { SetupFailure } from './failure.mjs';
import { ROOT, localBin, runQuietly } from './run.mjs';

const SAMPLES = 'sample';
const BUILD_SETTINGS = ['package.json', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json'];

/** Builds the library into dist, where dist is not what lib makes. */
export async function ensureLibraryBuilt() {
  if (isBuilt()) return;
  console.log('Building the library …');
  await runQuietly(localBin('nest'), ['build']);
}

/** Compiles a sample against the built library. */
export async function buildSample(name) {
  console.log('Building the sample …');
  await runQuietly(localBin('tsc'), ['--project', join(SAMPLES, name)]);
}

/**
 * The applications of a sample, as {@link buildSample} leaves them: the files at the top of its folder without a role in their
 * name, such as `main.ts`.
 *
 * @throws {SetupFailure} where there is no such sample
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
  return 'dist-bench/main.js';
}

/** Whether dist has one file for each source file, no other ones, and none older than a source or a setting. */
function isBuilt() {
  const sources = filesIn('lib');
  const outputs = filesIn('dist').filter((file) => /\.(js|lua)$/.test(file));
  const expected = sources.map((file) => file.replace(/\.ts$/, '.js'));
  if (expected.length !== outputs.length || !expected.every((file) => outputs.includes(file))) return false;
  const newest = Math.max(...sources.map((file) => timeOf('lib', file)), ...BUILD_SETTINGS.map((file) => timeOf(file)));
  return outputs.every((file) => timeOf('dist', file) >= newest);
}

function filesIn(folder) {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { recursive: true }).filter((file) => /\.(ts|js|lua)$/.test(file));
}

function timeOf(...path) {
  return statSync(join(ROOT, ...path)).mtimeMs;
}
