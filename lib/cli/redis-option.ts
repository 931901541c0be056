import { readFileSync } from 'node:fs';
import type { RedisSettings } from '../index.js';
import { isPlainObject } from '../checks/kinds.js';
import { usageError } from './cli-error.js';

/**
 * Which Redis `--redis` means: what the module takes as its option `redis`. A URL or the path of a socket as they are,
 * everything else as JSON, such as of Sentinels or of a Cluster; `@path` names a file that has it. No error shows any of it, since it
 * may hold a password.
 */
export function readRedis(given: string): RedisSettings {
  const text = given.startsWith('@') ? readSettings(given.slice(1)) : given;
  if (!text.startsWith('{')) return text;
  const settings = parsed(text);
  if (!isPlainObject(settings)) throw usageError(`--redis has JSON that is no object. ${FORMS}`);
  return settings;
}

const FORMS =
  `It takes a URL (redis:// or rediss://), the path of a socket, the module's option 'redis' as JSON, such as ` +
  `{"sentinels":[{"host":"a","port":26379}],"name":"mymaster"} or {"nodes":[{"host":"a","port":7000}]}, or @file with one of them.`;

function readSettings(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw usageError(`--redis names a file that cannot be read: ${(error as Error).message}`);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw usageError(`--redis begins as JSON and is none. ${FORMS}`);
  }
}
