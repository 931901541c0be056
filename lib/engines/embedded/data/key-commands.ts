import type { Command } from './keyspace.js';
import { ReplyError } from './reply-error.js';
import { SortedSet } from './sorted-set.js';

const OK = { ok: 'OK' };

/** What `TYPE` calls a value. */
function typeOf(value: unknown): string {
  if (value === undefined) return 'none';
  if (typeof value === 'string') return 'string';
  if (value instanceof Map) return 'hash';
  return value instanceof SortedSet ? 'zset' : 'stream';
}

/** The commands about keys as such, about texts, and about the time. */
export const KEY_COMMANDS = {
  TIME(keys) {
    const microseconds = Math.floor(keys.now() * 1000);
    return [String(Math.floor(microseconds / 1e6)), String(microseconds % 1e6)];
  },
  GET: (keys, key) => keys.text(key) ?? null,
  SET(keys, key, value = '', option, milliseconds) {
    keys.put(key, value);
    if (option === 'PX') keys.expireIn(key, Number(milliseconds));
    return OK;
  },
  DEL: (keys, ...names) => names.filter((key) => keys.value(key) !== undefined && keys.delete(key)).length,
  TYPE: (keys, key) => ({ ok: typeOf(keys.value(key)) }),
  PEXPIRE(keys, key, milliseconds) {
    if (keys.value(key) === undefined) return 0;
    keys.expireIn(key, Number(milliseconds));
    return 1;
  },
  PTTL(keys, key) {
    if (keys.value(key) === undefined) return -2;
    const end = keys.endOf(key);
    return end === undefined ? -1 : Math.ceil(end - keys.now());
  },
  RENAME(keys, key, name = '') {
    const value = keys.value(key);
    if (value === undefined) throw new ReplyError('ERR no such key');
    const end = keys.endOf(key);
    keys.delete(key);
    keys.put(name, value);
    if (end !== undefined) keys.expireIn(name, end - keys.now());
    return OK;
  },
} satisfies Readonly<Record<string, Command>>;
