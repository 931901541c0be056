import type { Command } from './keyspace.js';
import { ReplyError } from './reply-error.js';

const WHOLE = /^(0|-?[1-9]\d*)$/;
const LARGEST = 2n ** 63n - 1n;

function integer(text: string, message: string): bigint {
  if (!WHOLE.test(text) || BigInt(text) > LARGEST || BigInt(text) < -LARGEST - 1n) throw new ReplyError(message);
  return BigInt(text);
}

/** A pattern of Redis as a regular expression: those that are used have no other sign than `*`. */
function globOf(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*')}$`);
}

export const HASH_COMMANDS = {
  HGET: (keys, key, field = '') => keys.hash(key)?.get(field) ?? null,
  HMGET(keys, key, ...fields) {
    const hash = keys.hash(key);
    return fields.map((field) => hash?.get(field) ?? null);
  },
  HGETALL: (keys, key) => [...(keys.hash(key) ?? [])].flat(),
  HKEYS: (keys, key) => [...(keys.hash(key)?.keys() ?? [])],
  HVALS: (keys, key) => [...(keys.hash(key)?.values() ?? [])],
  HLEN: (keys, key) => keys.hash(key)?.size ?? 0,
  HSTRLEN: (keys, key, field = '') => keys.hash(key)?.get(field)?.length ?? 0,
  HSET(keys, key, ...pairs) {
    const hash = keys.ownHash(key);
    const before = hash.size;
    for (let i = 0; i < pairs.length; i += 2) hash.set(pairs[i] as string, pairs[i + 1] as string);
    return hash.size - before;
  },
  HSETNX(keys, key, field = '', value = '') {
    const hash = keys.ownHash(key);
    if (hash.has(field)) return 0;
    hash.set(field, value);
    return 1;
  },
  HDEL(keys, key, ...fields) {
    const hash = keys.hash(key);
    if (!hash) return 0;
    const before = hash.size;
    for (const field of fields) hash.delete(field);
    keys.deleteIfEmpty(key, hash);
    return before - hash.size;
  },
  HINCRBY(keys, key, field = '', by = '') {
    const added = integer(by, 'ERR value is not an integer or out of range');
    const sum = added + integer(keys.hash(key)?.get(field) ?? '0', 'ERR hash value is not an integer');
    if (sum > LARGEST || sum < -LARGEST - 1n) throw new ReplyError('ERR increment or decrement would overflow');
    keys.ownHash(key).set(field, String(sum));
    return Number(sum);
  },
  /** Whichever they are: here the first. */
  HRANDFIELD: (keys, key, count = '1') => [...(keys.hash(key)?.keys() ?? [])].slice(0, Number(count)),
  /** All in one page. */
  HSCAN(keys, key, _cursor, ...options) {
    const pattern = options[options.indexOf('MATCH') + 1];
    const fits = options.includes('MATCH') ? globOf(pattern as string) : undefined;
    return ['0', [...(keys.hash(key) ?? [])].filter(([field]) => fits?.test(field) ?? true).flat()];
  },
} satisfies Readonly<Record<string, Command>>;
