/**
 * `npm run build`: the package's code into `dist/cjs`, as CommonJS; what passes it on to ES modules into `dist/esm`; both with
 * their declarations; and the pages of the dashboard into `dist/dashboard`. `docs/decisions/0035-formats-and-copies.md` has the
 * reasons.
 */
import { chmodSync, cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

import { build as buildPages } from 'vite';

import { writeAnswerTable } from './setup/answer-table.mjs';
import { bundle } from './setup/bundle.mjs';
import { writeClientTypes } from './setup/client-types.mjs';
import { SetupFailure, runScript } from './setup/failure.mjs';
import { writeScriptTable } from './setup/lua-script-table.mjs';
import { readScripts } from './setup/lua-scripts.mjs';
import { ROOT, localBin, runQuietly } from './setup/run.mjs';

const DIST = join(ROOT, 'dist');
const CODE = join(DIST, 'cjs');

/** Files that not every user of the library needs, and that are loaded by themselves. */
const APART =
  /^(?:tools|lib[\\/](?:cli|dashboard|gateway|http|nest|outbox|testing|engines[\\/]embedded)|node_modules[\\/]rou3)[\\/]/;

const { bin, exports, peerDependenciesMeta } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

await runScript(async () => {
  rmSync(DIST, { recursive: true, force: true });
  writeScriptTable();
  writeAnswerTable();
  writeScripts();
  await Promise.all([writeCode(), writePages(), writeDeclarations(), writeClientTypes()]);
  return 0;
});

async function writeCode() {
  const { entries, programs } = inputs();
  const { output } = await bundle(
    { ...entries, ...programs },
    {
      dir: CODE,
      format: 'cjs',
      // As the sources are.
      strict: true,
      entryFileNames: '[name].js',
      chunkFileNames: 'chunks/[name].js',
      // Between files each use of a name is a call of a getter, which has made a publish a tenth slower.
      codeSplitting: { groups: [{ name: 'library', minShareCount: 2, test: (id) => !APART.test(relative(ROOT, id)) }] },
      // Jest runs CommonJS without a loader of ES modules.
      dynamicImportInCjs: false,
      sourcemap: true,
      // The sources are in the package.
      sourcemapExcludeSources: true,
    },
  );
  for (const name of Object.keys(programs)) chmodSync(join(CODE, `${name}.js`), 0o755);
  for (const name of Object.keys(entries)) {
    const code = output.find(({ fileName }) => fileName === `${name}.js`);
    writeModule(name, code);
  }
  writeFileSync(join(DIST, 'third-party-licenses.txt'), licensesOf(output));
  // Without this file Node would take the files for ES modules, as in the rest of the package.
  writeFileSync(join(CODE, 'package.json'), `${JSON.stringify({ type: 'commonjs', sideEffects: false })}\n`);
}

/**
 * What an ES module imports of an entry is what others require, so that a process has one copy of each class. A peer that may
 * be missing is imported first: Node 20 ends a process whose CommonJS cannot load a package, even if it catches the error.
 */
function writeModule(name, code) {
  const file = join(DIST, 'esm', name);
  const path = relative(dirname(file), join(CODE, code.fileName));
  const peers = code.imports.filter((one) => peerDependenciesMeta[one]?.optional).map((peer) => `import '${peer}';\n`);
  const passed = code.exports.map((one) => `export const ${one} = entry.${one};\n`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.js`, `${peers.join('')}import entry from '${path}';\n\n${passed.join('')}`);
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

/** The files in `lib` that package.json exports, or names as programs, by their names in `dist/cjs`, such as `testing/index`. */
function inputs() {
  const exported = Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? [] : [entry.require.default],
  );
  return { entries: sourcesOf(exported), programs: sourcesOf(Object.values(bin)) };
}

function sourcesOf(files) {
  const names = files.map((file) => file.replace(/^(?:\.\/)?dist\/cjs\/(.*)\.js$/, '$1'));
  return Object.fromEntries(names.map((name) => [name, `lib/${name}.ts`]));
}

/** The licenses of the packages in our bundle, which must be passed on with it. */
function licensesOf(output) {
  const files = output.flatMap((chunk) => Object.keys(chunk.modules ?? {}));
  const folders = new Set(files.flatMap((file) => /^.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  return Array.from(folders, (folder) => {
    const license = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
    if (!license) throw new SetupFailure(`${folder} has no license that could be passed on with its code.`);
    const { name, version, license: terms } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    // As Vite heads those of the pages.
    return `## ${name} - ${version} (${terms})\n\n${readFileSync(join(folder, license), 'utf8')}`;
  }).join('\n');
}

/** Both formats have the same declarations: the nearest package.json decides which format a file is. */
async function writeDeclarations() {
  await runQuietly(localBin('tsc'), ['--project', 'tsconfig.build.json']);
  const declarations = readdirSync(CODE, { recursive: true }).filter((path) => /\.d\.ts(\.map)?$/.test(path));
  for (const path of declarations) cpSync(join(CODE, path), join(DIST, 'esm', path));
}
