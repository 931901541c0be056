import type { Redis } from 'ioredis';
import type { SeededRandom } from '../../support/random.js';

/** Fields of hashes that are commands, not data: whoever writes one asks for what follows. */
const COMMANDS = new Set(['paused']);

const TYPES = ['string', 'hash', 'zset', 'stream', 'list'] as const;

/** Replaces a key by one of another type, and answers the ids of the messages that were stored beside it. */
const OVERWRITE = `
  local ids = redis.call('HKEYS', KEYS[2])
  redis.call('DEL', KEYS[1])
  if ARGV[1] == 'string' then redis.call('SET', KEYS[1], 'foreign')
  elseif ARGV[1] == 'hash' then redis.call('HSET', KEYS[1], 'foreign', '1')
  elseif ARGV[1] == 'zset' then redis.call('ZADD', KEYS[1], 1, 'foreign')
  elseif ARGV[1] == 'stream' then redis.call('XADD', KEYS[1], '*', 'foreign', '1')
  else redis.call('RPUSH', KEYS[1], 'foreign') end
  return ids`;

/** The only command that replaces a key of any type; since the look, the library may have put its own there again. */
const SET_STRING = `
  if redis.call('TYPE', KEYS[1]).ok == 'string' then redis.call('SET', KEYS[1], ARGV[1], 'KEEPTTL') end`;

/**
 * Writes records into the keys of a living prefix as another program, a half-restored dump or an attacker might. It finds the
 * keys by itself, so a new kind of key is written to as soon as the library uses it.
 */
export class HostileWriter {
  /** How many records were written under each kind of key, such as `scheduled` or `answered`. */
  readonly written = new Map<string, number>();
  readonly #client: Redis;
  readonly #random: SeededRandom;
  readonly #prefix: string;
  /** Ids that were written before: the same one in several keys is worse than many different ones. */
  readonly #ids: Buffer[] = [];
  #keys: (readonly [key: string, type: string])[] = [];

  constructor(client: Redis, random: SeededRandom, prefix: string) {
    this.#client = client;
    this.#random = random;
    this.#prefix = prefix;
  }

  /** Looks for the keys that there are now. */
  async look(): Promise<void> {
    const names = (await this.#client.keys(`{${this.#prefix}:*`)).filter((key) => !key.endsWith(':set-aside'));
    const types = await Promise.all(names.map(async (key) => this.#client.type(key)));
    const kinds = names.map((key, i) => [key, types[i] as string] as const);
    // In an order that the seed brings back; Redis gives them as they lie in its table.
    this.#keys = kinds.filter(([, type]) => type !== 'none').toSorted(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Writes one record into one key, beside what is there. */
  async write(): Promise<void> {
    const kind = this.#random.pick([...new Set(this.#keys.map(([key]) => kindOf(key)))]);
    const [key, type] = this.#random.pick(this.#keys.filter(([name]) => kindOf(name) === kind));
    this.written.set(kind, (this.written.get(kind) ?? 0) + 1);
    try {
      await this.#writeInto(key, type);
    } catch (error) {
      // The key has got another type meanwhile, or the stream has had a later entry.
      if (!/WRONGTYPE|smaller than the target/.test(String(error))) throw error;
    }
  }

  /**
   * Replaces a whole key of a partition by one of another type.
   *
   * @returns the ids of the messages that it takes with it, or may take
   */
  async overwrite(): Promise<string[]> {
    const ofPartitions = this.#keys.filter(([key]) => /:\d+\}:[a-z]+$/.test(key));
    const [key, type] = this.#random.pick(ofPartitions);
    const messages = `${key.slice(0, key.lastIndexOf('}') + 1)}:messages`;
    const other = this.#random.pick(TYPES.filter((one) => one !== type));
    return this.#client.eval(OVERWRITE, 2, key, messages, other).then(
      (ids) => ids as string[],
      () => [],
    );
  }

  async #writeInto(key: string, type: string): Promise<unknown> {
    const random = this.#random;
    if (type === 'zset') return this.#client.zadd(key, this.#score(), this.#id());
    if (type === 'stream') return this.#client.xadd(key, '*', this.#value(), this.#value(), 'e', this.#value());
    if (type === 'string') return this.#client.eval(SET_STRING, 1, key, this.#value());
    if (type !== 'hash') return undefined;
    const fields = (await this.#client.hkeys(key)).filter((field) => !COMMANDS.has(field));
    // The fields of messages have ids of ours as names; those that the library has named itself are words, or begin with one.
    const named = fields.filter((field) => /^[a-z]+$|^(head|place):/i.test(field));
    const field = named.length > 0 && random.next() < 0.7 ? random.pick(named) : this.#id();
    return this.#client.hset(key, field, await this.#valueFor(key));
  }

  /** Now and then what belongs to another message of the same hash. */
  async #valueFor(key: string): Promise<Buffer> {
    if (this.#random.next() < 0.7) return this.#value();
    const others = await this.#client.hvalsBuffer(key);
    if (others.length === 0) return this.#value();
    const other = this.#random.pick(others);
    return this.#random.next() < 0.5 ? other : other.subarray(0, this.#random.integer(0, other.length));
  }

  #score(): string {
    const now = Date.now();
    return this.#random.pick([
      '-inf', 'inf', '-1', '0', '0.5', '-0.5', '1e308', '-1e308', '1e-320', String(2 ** 53 + 2), '8640000000000001',
      String(now), `${now}.75`, String(now - 1e9), String(now + 500),
    ]); // oxfmt-ignore
  }

  #id(): Buffer {
    const random = this.#random;
    if (this.#ids.length > 0 && random.next() < 0.6) return random.pick(this.#ids);
    const text = `hostile-${random.integer(0, 1e9)}`;
    const id = random.pick([
      () => Buffer.from(text),
      () => Buffer.from(`${text}\0key`),
      () => Buffer.from(`${text}\0`),
      () => Buffer.from(`\0${text}`),
      () => Buffer.from(`${text}\0a\0b`),
      () => Buffer.from(''),
      () => Buffer.alloc(65),
      () => Buffer.from('\n\r\x1b[31m'),
      () => Buffer.from('__proto__'),
      () => Buffer.from('.not-22-characters-long'),
      () => Buffer.from(`.${'z'.repeat(22)}`),
      () => Buffer.from('�'.repeat(3)),
      () => Buffer.from('x'.repeat(random.integer(257, 100_000))),
      () => Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0xfe, 0xc0])]),
      () => this.#bytes(),
    ])();
    this.#ids.push(id);
    return id;
  }

  #value(): Buffer {
    const random = this.#random;
    const number = (): number => random.pick([0, 1, -1, 0.5, 2 ** 53, 1e21, 1e308, Date.now()]);
    const text = random.pick([
      () => '',
      () => 'null',
      () => '{}',
      () => '[',
      () => '['.repeat(random.integer(1, 20_000)),
      () => '[1767268800000,{"a":1}]',
      () => `[${number()},${number()},${number()}]`,
      () => `[1767268800000,1,{"b":[${number()},${number()}],"a":${number()},"t":${number()},"e":${number()}}]`,
      () => '[1767268800000,1,{"h":{"__proto__":1,"trace":[]},"b":5,"s":"none","a":"many"}]',
      () => `[1,"${'x'.repeat(random.integer(1, 300_000))}"]`,
      () => `${number()} ${number()} ${number()} ${number()}`,
      () => `c ${random.integer(0, 99)} 1 1 ${Date.now()}`,
      () => `r${Date.now() + 300} ${random.integer(0, 99)} 1 1 ${Date.now()}`,
      () => `r${number()} 1 1 1 1`,
      () => 'r 1 2 3',
      () => '1 1 1 1 1 1 1 1',
      () => '{"reason":"failed","name":1,"message":null,"history":[{]}',
      () => '{"reason":"failed","name":"E","message":"m","history":[{"at":1e300},{"at":"x"},5]}',
      () => `{"reason":"failed","name":"E","message":"m","lastError":${'{"lastError":'.repeat(500)}1${'}'.repeat(501)}`,
      () => `${random.integer(0, 1e6)} ${'1'.repeat(random.integer(0, 300))}`,
      () => String(number()),
      () => 'banana',
    ])();
    return random.next() < 0.15 ? this.#bytes() : Buffer.from(text);
  }

  #bytes(): Buffer {
    return Buffer.from(Array.from({ length: this.#random.integer(1, 60) }, () => this.#random.integer(0, 255)));
  }
}

/** Such as `answered` for `{prefix:topic:3}:answered:caller`, or `topics` for `{prefix:topics}`. */
function kindOf(key: string): string {
  const [, tag = '', suffix] = /^\{[^:}]+:([^}]*)\}(?::([a-z]+))?/.exec(key) ?? [];
  return suffix ?? tag;
}
