import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from '@commander-js/extra-typings';
import { NoJsonError, parseExactJson } from '../checks/parse-exact-json.js';
import { isPlainObject } from '../checks/kinds.js';
import { SerializationError } from '../errors/publishing.errors.js';
import type { MessageRef, RedisSettings } from '../index.js';
import { isoToEpoch, TIME_FORMS } from '../time/date.js';
import { usageError } from './cli-error.js';
import { type Terminal, readInput } from './terminal.js';

/** Smallest number taken as epoch milliseconds, in March 1973: anything less was meant as seconds or as a year. */
const MIN_EPOCH = 100_000_000_000;

/** Reads a number; the library checks its range. */
export function toNumber(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw new InvalidArgumentError('It is no number.');
  return number;
}

/** Reads a duration; the library checks it. A number alone could mean seconds or milliseconds. */
export function toDuration(text: string): string {
  if (!/^[\d.\s]+$/.test(text) || Number(text) === 0) return text;
  throw new InvalidArgumentError(`It needs a unit: '${text.trim()}s' are seconds, '${text.trim()}ms' milliseconds.`);
}

/** Reads a port to listen on. */
export function toPort(text: string): number {
  const port = toNumber(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError('It must be a number up to 65535.');
}

/** Reads a list with commas between its items. */
export function toList(text: string): string[] {
  return text.split(',').map((item) => item.trim());
}

/** Reads a time, and returns epoch milliseconds. */
export function toTime(text: string): number {
  const time = /^\d+$/.test(text) ? Number(text) : isoToEpoch(text);
  if (time === undefined) throw new InvalidArgumentError(`It must be ${TIME_FORMS}.`);
  if (time >= MIN_EPOCH) return time;
  throw new InvalidArgumentError(`It must be ${TIME_FORMS}, and ${text} is before 1973; seconds are not taken.`);
}

/** Adds a header given as `name=value` to those before it. */
export function toHeaders(text: string, before: Record<string, string> | undefined): Record<string, string> {
  const end = text.indexOf('=');
  if (end < 1) throw new InvalidArgumentError('It must be name=value.');
  return { ...before, [text.slice(0, end)]: text.slice(end + 1) };
}

/** Adds a tag to those before it. */
export function toTags(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/**
 * Reads a payload or an option in JSON: the JSON itself, `@path` for a file, `-` for the standard input.
 *
 * @param name its name in errors
 * @param root beginning of paths in errors
 * @throws CliError if it is not JSON, or would come back as something else
 */
export async function readJson(terminal: Terminal, name: string, given: string, root = name): Promise<unknown> {
  const text = given === '-' ? await readInput(terminal) : given.startsWith('@') ? contentOf(name, given) : given;
  try {
    return parseExactJson(text, root);
  } catch (error) {
    if (error instanceof SerializationError) throw usageError(error.message);
    if (!(error instanceof NoJsonError)) throw error;
    throw usageError(
      `${name} must be JSON, @file or - for the standard input; a text stands in quotes of its own, as in '"hello"'. ` +
        `It is none. ${error.message}`,
    );
  }
}

function contentOf(name: string, given: string): Buffer {
  try {
    return readFileSync(given.slice(1));
  } catch (error) {
    throw usageError(`${name} names a file that cannot be read: ${(error as Error).message}`);
  }
}

/** Returns a reference to a message by its id, and by its key if that was given. */
export function messageRef(id: string, key: string | undefined): MessageRef {
  return key === undefined ? id : { id, key };
}

/**
 * Reads `--redis`, which stands for the module's option `redis`: the URL or the path of a socket itself, everything else as JSON, such as
 * for Sentinels or a Cluster; `@path` names a file that has it. No error shows any of it, since it may hold a password.
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
