import { ReplyError } from './reply-error.js';
import { SortedSet } from './sorted-set.js';

export interface StreamEntry {
  /** First number of its id, which holds a time or an offset. */
  readonly first: number;
  readonly second: number;
  readonly fields: readonly string[];
}

/** Entries that are trimmed at once: Redis drops whole nodes of its tree, and this many are one. */
const NODE = 100;

/** A STREAM of Redis, as far as the scripts use it. */
class Stream {
  readonly #entries: StreamEntry[] = [];

  /** In the order of their ids. */
  get entries(): readonly StreamEntry[] {
    return this.#entries;
  }

  get size(): number {
    return this.#entries.length;
  }

  copy(): Stream {
    const copy = new Stream();
    for (const entry of this.#entries) copy.append(entry);
    return copy;
  }

  append(entry: StreamEntry): void {
    this.#entries.push(entry);
  }

  /** Drops the oldest entries, whole nodes of them. */
  trim(excess: number): void {
    if (excess >= NODE) this.#entries.splice(0, Math.floor(excess / NODE) * NODE);
  }
}

const FEW_ENDS = 1000;

export type Hash = Map<string, string>;

type Value = string | Hash | SortedSet | Stream;

/** Answer of Redis to a command: `null` is nil, and an object a status. */
export type DataReply = null | number | string | { readonly ok: string } | readonly DataReply[];

export type Command = (keys: Keyspace, ...args: string[]) => DataReply;

/** Values of keys at some time, and when they end. */
export interface Snapshot {
  readonly values: ReadonlyMap<string, Value>;
  readonly ends: ReadonlyMap<string, number>;
}

/** The keys and what they hold. */
export class Keyspace {
  #values = new Map<string, Value>();
  #ends = new Map<string, number>();
  /** Most keys with an end before those that have ended are removed. */
  #mostEnds = FEW_ENDS;
  readonly #now: () => number;

  /** @param now epoch milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  now(): number {
    return this.#now();
  }

  /** The keys that hold something. */
  get names(): string[] {
    return [...this.#values.keys()].filter((key) => this.value(key) !== undefined);
  }

  /** Returns a copy of what is there now. */
  snapshot(): Snapshot {
    return { values: copyOf(this.#values), ends: new Map(this.#ends) };
  }

  /** @param snapshot `undefined`: nothing is left */
  restore(snapshot: Snapshot | undefined): void {
    this.#values = copyOf(snapshot?.values ?? new Map());
    this.#ends = new Map(snapshot?.ends);
  }

  value(key: string): Value | undefined {
    const end = this.#ends.get(key);
    if (end !== undefined && end <= this.#now()) this.delete(key);
    return this.#values.get(key);
  }

  /** @throws ReplyError if it holds something else */
  text(key: string): string | undefined {
    const value = this.value(key);
    if (value !== undefined && typeof value !== 'string') throw wrongType();
    return value;
  }

  hash(key: string): Hash | undefined {
    return this.#holding(key, Map) as Hash | undefined;
  }

  ownHash(key: string): Hash {
    return this.hash(key) ?? this.#add(key, new Map<string, string>());
  }

  set(key: string): SortedSet | undefined {
    return this.#holding(key, SortedSet);
  }

  ownSet(key: string): SortedSet {
    return this.set(key) ?? this.#add(key, new SortedSet());
  }

  stream(key: string): Stream | undefined {
    return this.#holding(key, Stream);
  }

  ownStream(key: string): Stream {
    return this.stream(key) ?? this.#add(key, new Stream());
  }

  /** Puts a value in place of any other; it does not expire. */
  put(key: string, value: Value): void {
    this.#values.set(key, value);
    this.#ends.delete(key);
  }

  /** Deletes a key, and returns whether it was there. */
  delete(key: string): boolean {
    this.#ends.delete(key);
    return this.#values.delete(key);
  }

  /** Deletes a key that holds nothing, since Redis has none. */
  deleteIfEmpty(key: string, { size }: { readonly size: number }): void {
    if (size === 0) this.delete(key);
  }

  /** Returns when a key ends, in epoch milliseconds; `undefined`: never. */
  endOf(key: string): number | undefined {
    return this.#ends.get(key);
  }

  /** @param milliseconds from now on */
  expireIn(key: string, milliseconds: number): void {
    this.#ends.set(key, this.#now() + milliseconds);
    if (this.#ends.size > this.#mostEnds) this.#removeEnded();
  }

  /** Removes keys that have ended; those that are never asked for again would stay otherwise. */
  #removeEnded(): void {
    for (const key of this.#ends.keys()) this.value(key);
    this.#mostEnds = Math.max(FEW_ENDS, 2 * this.#ends.size);
  }

  #holding<T extends Value>(key: string, Type: abstract new (...args: never[]) => T): T | undefined {
    const value = this.value(key);
    if (value === undefined || value instanceof Type) return value;
    throw wrongType();
  }

  #add<T extends Value>(key: string, value: T): T {
    this.#values.set(key, value);
    return value;
  }
}

function copyOf(values: ReadonlyMap<string, Value>): Map<string, Value> {
  const copies = new Map<string, Value>();
  for (const [key, value] of values) {
    if (typeof value === 'string') copies.set(key, value);
    else copies.set(key, value instanceof Map ? new Map(value) : value.copy());
  }
  return copies;
}

function wrongType(): ReplyError {
  return new ReplyError('WRONGTYPE Operation against a key holding the wrong kind of value');
}
