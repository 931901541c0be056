import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT, runQuietly } from './run.mjs';

const LOCK = join(ROOT, 'package-lock.json');

/** npm's own record of node_modules. npm writes it last, so it is missing after an interrupted `npm ci`. */
const INSTALLED = join(ROOT, 'node_modules/.package-lock.json');

/** Installs the packages of package-lock.json if node_modules differs from it. */
export async function ensureDependencies() {
  const reason = whyToInstall();
  if (!reason) return;
  console.log(`Installing the dependencies (${reason}) …`);
  rmSync(INSTALLED, { force: true });
  // With NODE_ENV=production npm would leave out the tools that build, check and run the sample.
  await runQuietly('npm', ['ci', '--include=dev']);
}

/** The first difference between the lock file and node_modules. */
function whyToInstall() {
  const installed = packagesOf(INSTALLED);
  if (!installed) return 'node_modules is missing or incomplete';
  const locked = packagesOf(LOCK);
  if (!locked) return 'package-lock.json cannot be read';
  for (const [path, { version, optional }] of Object.entries(locked)) {
    const found = installed[path];
    // npm leaves out optional packages that do not support the platform or cannot be built.
    if (!found && !optional) return `${path} is missing`;
    if (found && found.version !== version) return `${path} is ${found.version}, not ${version}`;
  }
  for (const [path, entry] of Object.entries(installed)) {
    if (!locked[path]) return `${path} is no longer needed`;
    if (!suitsPlatform(entry)) return `${path} is for another platform`;
    if (!existsSync(join(ROOT, path, 'package.json'))) return `${path} is gone`;
  }
  return undefined;
}

/** The packages of a lock file by their path, without the root itself; undefined if the file is missing or broken. */
function packagesOf(file) {
  try {
    const { '': _root, ...packages } = JSON.parse(readFileSync(file, 'utf8')).packages;
    return packages;
  } catch {
    return undefined;
  }
}

/** Whether npm would install the package here: node_modules may come from another machine. */
function suitsPlatform({ os, cpu }) {
  return allows(os, process.platform) && allows(cpu, process.arch);
}

function allows(list, value) {
  if (!list || list.includes(value)) return true;
  return list.every((item) => item.startsWith('!') && item !== `!${value}`);
}
