/**
 * `npm run build`: the package's code into `dist`, as ES modules in `dist/esm` and as CommonJS in `dist/cjs`, each with its
 * declarations, and the pages of the dashboard in `dist/dashboard`. `docs/decisions/0035-formats-and-copies.md` has the reasons.
 */
import { chmodSync, cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { build as buildPages } from 'vite';

import { bundle } from './setup/bundle.mjs';
import { SetupFailure, runScript } from './setup/failure.mjs';
import { writeScriptTable } from './setup/lua-script-table.mjs';
import { readScripts } from './setup/lua-scripts.mjs';
import { ROOT, localBin, runQuietly } from './setup/run.mjs';

const DIST = join(ROOT, 'dist');

/**
 * What reads the arguments of the command line. It is bundled apart: it needs `require`, and together with it the library's own
 * files would get that too, which other bundlers do not take.
 */
const PARSER = '@commander-js/extra-typings';

await runScript(async () => {
  rmSync(DIST, { recursive: true, force: true });
  writeScriptTable();
  writeScripts();
  await Promise.all([writeCode(), writePages(), writeDeclarations()]);
  return 0;
});

async function writeCode() {
  const { entries, programs } = inputs();
  const esm = outputOf('esm');
  // Programs are run and not imported, so one format is enough.
  const built = await Promise.all([
    bundle({ ...entries, ...programs }, [{ ...esm, paths: { [PARSER]: './parser.js' } }], [PARSER]),
    bundle(entries, [outputOf('cjs')]),
    bundle({ 'cli/parser': PARSER }, [{ ...esm, sourcemap: false }]),
  ]);
  for (const name of Object.keys(programs)) chmodSync(join(DIST, 'esm', `${name}.js`), 0o755);
  const output = built.flatMap((outputs) => outputs.flatMap((each) => each.output));
  writeFileSync(join(DIST, 'third-party-licenses.txt'), licensesOf(output));
  // Without this file Node would take the files for ES modules, as in the rest of the package.
  writeFileSync(join(DIST, 'cjs/package.json'), `${JSON.stringify({ type: 'commonjs', sideEffects: false })}\n`);
}

/** The scripts as Redis gets them, for whoever sends them without this library. */
function writeScripts() {
  mkdirSync(join(DIST, 'lua'), { recursive: true });
  for (const [name, { source }] of readScripts()) writeFileSync(join(DIST, 'lua', `${name}.lua`), source);
}

/** What the browser loads of the dashboard: static files. */
async function writePages() {
  await buildPages({ configFile: join(ROOT, 'lib/dashboard/browser/vite.config.ts') });
}

/** The files in `lib` that package.json exports, or names as programs, by their names in `dist/esm`, such as `testing/index`. */
function inputs() {
  const { bin, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const exported = Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.import.default]));
  return { entries: sourcesOf(exported), programs: sourcesOf(Object.values(bin)) };
}

function sourcesOf(files) {
  const names = files.map((file) => file.replace(/^\.\/dist\/esm\/(.*)\.js$/, '$1'));
  return Object.fromEntries(names.map((name) => [name, `lib/${name}.ts`]));
}

function outputOf(format) {
  return {
    dir: join(DIST, format),
    format,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    // Jest runs CommonJS without a loader of ES modules.
    dynamicImportInCjs: false,
    sourcemap: true,
    // The sources are in the package.
    sourcemapExcludeSources: true,
  };
}

/** The licenses of the packages in our bundle, which must be passed on with it. */
function licensesOf(output) {
  const files = output.flatMap((chunk) => Object.keys(chunk.modules ?? {}));
  const folders = new Set(files.flatMap((file) => /^.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  return Array.from(folders, (folder) => {
    const license = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
    if (!license) throw new SetupFailure(`${folder} has no license that could be passed on with its code.`);
    const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length);
    return `${name}\n\n${readFileSync(join(folder, license), 'utf8')}`;
  }).join('\n');
}

/** Both formats have the same declarations: the nearest package.json decides which format a file is. */
async function writeDeclarations() {
  await runQuietly(localBin('tsc'), ['--project', 'tsconfig.build.json']);
  mkdirSync(join(DIST, 'cjs'), { recursive: true });
  const isDeclaration = (path) => !/\.js(\.map)?$/.test(path) && path !== join(DIST, 'esm/cli');
  cpSync(join(DIST, 'esm'), join(DIST, 'cjs'), { recursive: true, filter: isDeclaration });
}
