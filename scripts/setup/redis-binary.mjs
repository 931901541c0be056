import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const NAMES = ['redis-server', 'valkey-server'];
const NEEDED = [6, 2];

export const NEEDED_VERSION = NEEDED.join('.');

/** The servers on PATH: those that are new enough, and a description of each that is not. */
export function findRedisServers() {
  const usable = [];
  const unusable = [];
  for (const name of NAMES) {
    const path = findOnPath(name);
    if (!path) continue;
    const version = versionOf(path);
    if (version && isNewEnough(version)) usable.push({ name, path, version });
    else unusable.push(`${path} (${version ?? 'it does not tell its version'})`);
  }
  return { usable, unusable };
}

export function findOnPath(name) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function versionOf(path) {
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: 10_000 });
  return /\bv=(\d+\.\d+\.\d+)/.exec(stdout ?? '')?.[1];
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1]);
}
