import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { basename, delimiter, join } from 'node:path';

import { SetupFailure } from './failure.mjs';

const NAMES = ['redis-server', 'valkey-server'];
const NEEDED = [6, 2];

export const NEEDED_VERSION = NEEDED.join('.');

/**
 * The server that REDIS_SERVER names, otherwise those on PATH: the servers that are new enough, and a description of each other
 * one.
 *
 * @throws {SetupFailure} if REDIS_SERVER names no usable server
 */
export function findRedisServers() {
  const { REDIS_SERVER } = process.env;
  if (REDIS_SERVER) return { usable: [givenServer(REDIS_SERVER)], unusable: [] };
  const usable = [];
  const unusable = [];
  for (const name of NAMES) {
    const path = findOnPath(name);
    if (!path) continue;
    const version = versionOf(path);
    if (version && isNewEnough(version)) usable.push({ name, path, version });
    else unusable.push(`${path} (${version ?? 'unknown version'})`);
  }
  return { usable, unusable };
}

function givenServer(path) {
  const version = isExecutable(path) ? versionOf(path) : undefined;
  if (version && isNewEnough(version)) return { name: basename(path), path, version };
  const reason = version ? `it is version ${version}` : 'it does not run, or does not print its version';
  throw new SetupFailure(
    `REDIS_SERVER must be the path of a redis-server or valkey-server from ${NEEDED_VERSION} on. Given: ${path} (${reason}).`,
  );
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
