/**
 * `node scripts/release-files.mjs <folder>`: writes what goes with a release, after `npm run build`:
 *
 * - `sbom.cdx.json`: what the package is made of, as CycloneDX: what is installed with it, and what the build has made a part of its
 *   code, which nobody finds in `node_modules`
 * - `notes.md`: what the changelog says of this version
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { SetupFailure, runScript } from './setup/failure.mjs';
import { ROOT } from './setup/run.mjs';

/** Files that name what became a part of the code, in headings such as `## croner - 11.0.1 (MIT)`. */
const LICENSES = ['dist/third-party-licenses.txt', 'dist/dashboard/licenses.md'];

await runScript(() => {
  const [folder] = process.argv.slice(2);
  if (!folder) throw new SetupFailure('Say which folder the files go to.');
  const { name, version, dependencies } = JSON.parse(read('package.json'));
  const notes = notesOf(version);
  const installed = Object.keys(dependencies).map(
    (one) => `${one}@${JSON.parse(read(`node_modules/${one}/package.json`)).version}`,
  );
  const all = npmSbom();
  const sbom = partOf(all, [...withTheirOwn(all, installed), ...LICENSES.flatMap(packagesIn)]);
  // npm takes the name of the folder.
  sbom.metadata.component.name = name;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'notes.md'), notes);
  writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
  return 0;
});

function read(path) {
  return readFileSync(join(ROOT, path), 'utf8');
}

function notesOf(version) {
  const section = read('CHANGELOG.md')
    .split(/^(?=## )/m)
    .find((text) => text.startsWith(`## [${version}] - `));
  if (!section)
    throw new SetupFailure(
      `CHANGELOG.md has no section for version ${version}, such as "## [${version}] - 2026-01-31".`,
    );
  return section.replace(/^.*\n\n/, '');
}

/** Such as `croner@11.0.1`. */
function packagesIn(path) {
  return Array.from(read(path).matchAll(/^## (\S+) - (\S+) \(/gm), ([, name, version]) => `${name}@${version}`);
}

/** Of everything that is installed here, tools for development included. */
function npmSbom() {
  const options = { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 };
  return JSON.parse(execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx'], options));
}

function withTheirOwn({ dependencies }, packages) {
  const found = new Set(packages);
  for (const one of found) for (const next of dependencies.find(({ ref }) => ref === one).dependsOn) found.add(next);
  return found;
}

/** With the packages alone that are named. */
function partOf(sbom, packages) {
  const components = packages.map((one) => {
    const found = sbom.components.find((component) => component['bom-ref'] === one);
    if (!found) throw new SetupFailure(`${one} is a part of the package, and npm does not know it.`);
    // For this repository it is a tool for development; in the package it is not.
    return { ...found, properties: [] };
  });
  const ref = sbom.metadata.component['bom-ref'];
  return { ...sbom, components, dependencies: [{ ref, dependsOn: packages }] };
}
