import { type Command, type DataReply, Keyspace, type Snapshot, type StreamEntry } from './keyspace.js';
import { ReplyError } from './reply-error.js';
import { SORTED_SET_COMMANDS } from './sorted-set-commands.js';
import { SortedSet } from './sorted-set.js';

/** Returns the two numbers of an id. */
function numbersOf(id: string): readonly [number, number] {
  const [first, second = Infinity] = id.split('-').map(Number);
  return [first as number, second];
}

function idOf({ first, second }: StreamEntry): string {
  return `${first}-${second}`;
}

const STREAM_COMMANDS = {
  /** With `MAXLEN ~ n LIMIT n`, or `MINID ~ id LIMIT n`. */
  XADD(keys, key, ...args) {
    const idAt = args[0] === 'MAXLEN' || args[0] === 'MINID' ? 5 : 0;
    const [kind, , bound = ''] = args;
    const [id = '*', ...fields] = args.slice(idAt);
    const stream = keys.ownStream(key);
    const last = stream.entries.at(-1);
    const now = Math.floor(keys.now());
    const next = last && last.first >= now ? ([last.first, last.second + 1] as const) : ([now, 0] as const);
    const [first, second] = id === '*' ? next : numbersOf(id);
    stream.append({ first, second, fields });
    if (idAt > 0) {
      const [oldest] = numbersOf(bound);
      const kept = stream.entries.findIndex((entry) => entry.first >= oldest);
      stream.trim(kind === 'MAXLEN' ? stream.size - Number(bound) : kept);
    }
    return `${first}-${second}`;
  },
  /** Back from `end`, to the beginning. */
  XREVRANGE(keys, key, ...args) {
    const [end = '+', , , count] = args;
    const isOpen = end.startsWith('(');
    const [first, second] = end === '+' ? [Infinity, Infinity] : numbersOf(isOpen ? end.slice(1) : end);
    const entries = (keys.stream(key)?.entries ?? []).filter(
      (entry) =>
        entry.first < first || (entry.first === first && (isOpen ? entry.second < second : entry.second <= second)),
    );
    const latest = entries.toReversed().slice(0, count === undefined ? undefined : Number(count));
    return latest.map((entry) => [idOf(entry), [...entry.fields]]);
  },
} satisfies Readonly<Record<string, Command>>;

const OK = { ok: 'OK' };

/** Returns the name that `TYPE` gives to a value. */
function typeOf(value: unknown): string {
  if (value === undefined) return 'none';
  if (typeof value === 'string') return 'string';
  if (value instanceof Map) return 'hash';
  return value instanceof SortedSet ? 'zset' : 'stream';
}

/** The commands about keys as such, about texts, and about the time. */
const KEY_COMMANDS = {
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

const WHOLE = /^(0|-?[1-9]\d*)$/;
const LARGEST = 2n ** 63n - 1n;

function integer(text: string, message: string): bigint {
  if (!WHOLE.test(text) || BigInt(text) > LARGEST || BigInt(text) < -LARGEST - 1n) throw new ReplyError(message);
  return BigInt(text);
}

/** Turns a pattern of Redis into a regular expression: the patterns used have no other sign than `*`. */
function globOf(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*')}$`);
}

const HASH_COMMANDS = {
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
  /** Returns any fields: here the first. */
  HRANDFIELD: (keys, key, count = '1') => [...(keys.hash(key)?.keys() ?? [])].slice(0, Number(count)),
  /** All in one page. */
  HSCAN(keys, key, _cursor, ...options) {
    const pattern = options[options.indexOf('MATCH') + 1];
    const fits = options.includes('MATCH') ? globOf(pattern as string) : undefined;
    return ['0', [...(keys.hash(key) ?? [])].filter(([field]) => fits?.test(field) ?? true).flat()];
  },
} satisfies Readonly<Record<string, Command>>;

export type { Snapshot };

const COMMANDS = { ...KEY_COMMANDS, ...HASH_COMMANDS, ...SORTED_SET_COMMANDS, ...STREAM_COMMANDS };

const BY_NAME = new Map<string, Command>(Object.entries(COMMANDS));

/**
 * The commands of Redis that the scripts and the operations use, on data in this process. Texts have one character for each of their
 * bytes.
 */
export class EmbeddedData {
  readonly #keys: Keyspace;
  readonly #publish: (channel: string, message: string) => void;

  /**
   * @param now epoch milliseconds
   * @param publish sends a message to the listeners
   */
  constructor(now: () => number, publish: (channel: string, message: string) => void) {
    this.#keys = new Keyspace(now);
    this.#publish = publish;
  }

  /** The keys that hold something. */
  get keys(): string[] {
    return this.#keys.names;
  }

  /** Returns a copy of what is stored now. */
  snapshot(): Snapshot {
    return this.#keys.snapshot();
  }

  /** @param snapshot `undefined`: nothing is left */
  restore(snapshot: Snapshot | undefined): void {
    this.#keys.restore(snapshot);
  }

  /** @throws ReplyError as Redis replies */
  call(name: string, ...args: string[]): DataReply {
    if (name === 'PUBLISH') {
      this.#publish(args[0] ?? '', args[1] ?? '');
      return 0;
    }
    const command = BY_NAME.get(name);
    if (!command) throw new ReplyError(`ERR unknown command '${name}'`);
    return command(this.#keys, ...args);
  }
}
