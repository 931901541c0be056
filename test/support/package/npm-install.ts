import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { onceARun } from './once-a-run.js';
import { packLibrary } from './packed-library.js';
import { readJson } from './read-json.js';
import { runProgram } from './run-program.js';

/**
 * Where there is no lock file, npm chooses among the versions that existed when this day began: what others release later fails no
 * check here. Move it on together with the lock file.
 */
export const BEFORE = '--before=2026-11-26';

/** Packages that only build, check and measure the library, or that its adapters for databases are tested with: no test of an application imports them. */
const TOOLS = [
  '@electric-sql/pglite',
  '@nestjs-cls/transactional',
  '@nestjs-cls/transactional-adapter-drizzle-orm',
  '@nestjs-cls/transactional-adapter-typeorm',
  '@nestjs/cli',
  '@types/pg',
  '@types/redis',
  'bee-queue',
  'bullmq',
  'drizzle-orm',
  'knex',
  'kysely',
  'mysql2',
  'oxfmt',
  'oxlint',
  'oxlint-tsgolint',
  'pg',
  'rolldown',
  'typeorm',
];

/** Packages of Nest whose version differs from that of Nest. */
const FOR_NEST_11: Readonly<Record<string, string>> = { '@nestjs/config': '^4.0.0', '@nestjs/schedule': '^6.0.0' };

interface Manifest {
  readonly version: string;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/**
 * Makes a folder with the packed library and the packages for the tests, on Nest 11.
 */
export async function installOnNest11(): Promise<string> {
  const { tarball } = await packLibrary();
  return onceARun('nest-11', async (folder) => {
    const { devDependencies } = await readJson<Manifest>('package.json');
    const dependencies = Object.fromEntries([
      ...Object.entries(devDependencies)
        .filter(([name]) => !TOOLS.includes(name))
        .map(([name, range]) => [name, name.startsWith('@nestjs/') ? (FOR_NEST_11[name] ?? '^11.0.0') : range]),
      ['nestjs-delay-queue', tarball],
    ]) as Record<string, string>;
    await install(folder, dependencies);
  });
}

/**
 * Installs packages in a folder.
 *
 * @param dependencies ranges by name
 */
export async function install(folder: string, dependencies: Readonly<Record<string, string>>): Promise<void> {
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
  await npmInstall(folder);
}

/** Installs the packages of a folder's package.json, and the given ones. */
export async function npmInstall(folder: string, ...packages: readonly string[]): Promise<void> {
  const flags = [BEFORE, '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  await runProgram('npm', ['install', ...flags, ...packages], { cwd: folder });
}

/** Version of the package that a file in this folder would get. */
export async function versionOf(packageName: string, folder: string): Promise<string> {
  const manifest = createRequire(join(folder, 'index.js')).resolve(`${packageName}/package.json`);
  return (await readJson<Manifest>(manifest)).version;
}
