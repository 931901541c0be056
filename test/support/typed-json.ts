import type { PayloadSerializer } from 'nestjs-delay-queue';

/**
 * A serializer of superjson's shape: plain JSON, and beside it what the paths in it were. It is a class, as superjson is, so
 * its functions need their `this`.
 */
export class TypedJson implements PayloadSerializer {
  readonly #tag = '$';

  serialize(value: unknown): unknown {
    return { json: this.#pack(value) };
  }

  deserialize({ json }: { json: unknown }): unknown {
    return this.#unpack(json);
  }

  #pack(value: unknown): unknown {
    if (value instanceof Date) return { [this.#tag]: 'Date', value: value.getTime() };
    if (value instanceof Map) return { [this.#tag]: 'Map', value: Array.from(value, (entry) => this.#pack(entry)) };
    if (typeof value === 'bigint') return { [this.#tag]: 'BigInt', value: value.toString() };
    if (value === undefined) return { [this.#tag]: 'undefined' };
    if (Array.isArray(value)) return value.map((each) => this.#pack(each));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.#pack(each)]));
  }

  #unpack(packed: unknown): unknown {
    if (Array.isArray(packed)) return packed.map((each) => this.#unpack(each));
    if (typeof packed !== 'object' || packed === null) return packed;
    const { [this.#tag]: type, value } = packed as Record<string, unknown>;
    if (type === 'Date') return new Date(value as number);
    if (type === 'Map') return new Map(this.#unpack(value) as [unknown, unknown][]);
    if (type === 'BigInt') return BigInt(value as string);
    if (type === 'undefined') return undefined;
    return Object.fromEntries(Object.entries(packed).map(([key, each]) => [key, this.#unpack(each)]));
  }
}
