import { describe, expect, it } from 'vitest';
import { SerializationError } from '../../../lib/errors/publishing.errors.js';
import { toJson } from '../../../lib/messages/payload-to-json.js';

class Order {
  readonly id = '42';
  readonly lines = [{ sku: 'a', price: 1.5 }];

  total(): number {
    return 1.5;
  }
}

class Ping {
  answer(): void {}
}

class PaymentFailed extends Error {
  readonly code = 'PAYMENT';
}

class Registry extends Map<string, string> {
  readonly name = 'registry';
}

/** As a query builder is: a promise to whoever awaits it, with the methods of one. */
const query: object = Object.create(Promise.prototype) as object;

function refusalOf(payload: unknown, serialized?: true): string {
  let refusal: unknown;
  try {
    toJson({ payload, serialized });
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toBeInstanceOf(SerializationError);
  return (refusal as Error).message;
}

function nested(depth: number, innermost: unknown): unknown {
  let value = innermost;
  for (let i = 0; i < depth; i++) value = { next: value };
  return value;
}

describe('toJson', () => {
  const shared = { a: 1 };
  const withSymbol = { a: 1, [Symbol('mark')]: 2 };
  const inherited: object = Object.assign(Object.create({ inherited: NaN }) as object, { own: 1 });
  it.each<[string, unknown]>([
    ['plain data', { text: 'a', list: [1, null, true, { a: 'b' }], nothing: null }],
    ['properties that are undefined', { a: 1, b: undefined, c: { d: undefined } }],
    ['an instance of a class, which loses its methods', new Order()],
    ['an instance of a class without properties', new Ping()],
    ['an object without a prototype', Object.assign(Object.create(null) as object, { a: 1 })],
    ['a date', { at: new Date(0), list: [new Date(1)] }],
    ['a Buffer', { data: Buffer.from('abc') }],
    ['a URL', { link: new URL('https://example.org/') }],
    ['what toJSON() answers', { money: { amount: 10n, toJSON: () => '10 EUR' } }],
    ['an Error with a toJSON()', Object.assign(new Error('x'), { toJSON: () => ({ message: 'x' }) })],
    ['a toJSON() that answers undefined, in an object', { a: { toJSON: () => undefined } }],
    ['boxed values', [Object('a'), Object(true), Object(5)]],
    ['the same object twice', { first: shared, second: shared, list: [shared, shared] }],
    ['properties that are symbols', withSymbol],
    ['what is inherited', inherited],
    ['objects in objects, deeper than the stack of a recursion', nested(2000, [1])],
  ])('keeps %s', (_, payload) => {
    expect(toJson({ payload })).toBe(JSON.stringify(payload));
  });

  it.each<[string, unknown, string]>([
    ['NaN', { items: [1, 2, 3, { price: NaN }] }, 'payload.items[3].price is NaN, which JSON would turn into null'],
    ['Infinity', { max: Infinity }, 'payload.max is Infinity, which JSON would turn into null'],
    ['a number as the payload', -Infinity, 'payload is -Infinity, which JSON would turn into null'],
    ['undefined in a list', { ids: ['a', undefined] }, 'payload.ids[1] is undefined, which JSON would turn into null'],
    // eslint-disable-next-line no-sparse-arrays
    ['a hole in a list', [[1, , 3]], 'payload[0][1] is undefined, which JSON would turn into null'],
    ['a function', { done: () => {} }, 'payload.done is a function, which JSON would leave out'],
    ['a function in a list', [() => {}], 'payload[0] is a function, which JSON would turn into null'],
    ['a symbol', { kind: Symbol('a') }, 'payload.kind is a symbol, which JSON would leave out'],
    ['a Map', { tags: new Map([['a', 1]]) }, 'payload.tags is an instance of Map, which JSON would turn into {}'],
    ['a Set', { tags: new Set(['a']) }, 'payload.tags is an instance of Set, which JSON would turn into {}'],
    [
      'a class of maps',
      new Registry(),
      'payload is an instance of Registry, which JSON would turn into a plain object',
    ],
    [
      'an Error',
      { error: new TypeError('x') },
      'payload.error is an instance of TypeError, which JSON would turn into {}',
    ],
    ['an Error with a code', [new PaymentFailed()], 'payload[0] is an instance of PaymentFailed, which JSON'],
    ['a RegExp', { match: /a/ }, 'payload.match is an instance of RegExp, which JSON would turn into {}'],
    ['a promise', { user: Promise.resolve(1) }, 'payload.user is a promise. Await it first'],
    ['what can be awaited', { user: query }, 'payload.user is a promise. Await it first'],
    ['an ArrayBuffer', { data: new ArrayBuffer(2) }, 'payload.data is an instance of ArrayBuffer, which JSON'],
    ['bytes', { data: new Uint8Array(2) }, 'payload.data is an instance of Uint8Array, which JSON'],
    ['URLSearchParams', { query: new URLSearchParams('a=1') }, 'payload.query is an instance of URLSearchParams'],
    ['an invalid Date', { at: new Date('soon') }, 'payload.at is an invalid Date, which JSON would turn into null'],
    ['a BigInt', { 'amount due': 10n }, "payload['amount due'] is a BigInt, which JSON cannot hold"],
    ['what a toJSON() answers', { a: { toJSON: () => ({ b: [NaN] }) } }, 'payload.a.b[0] is NaN'],
    ['undefined', undefined, 'payload is undefined, which JSON cannot hold. Publish null'],
    ['a function as the payload', () => {}, 'payload is a function, which JSON cannot hold. Publish null'],
    ['what has nothing for JSON', { toJSON: () => undefined }, 'an object whose toJSON() answers nothing'],
  ])('refuses %s, and names its place', (_, payload, says) => {
    expect(refusalOf(payload)).toContain(says);
    expect(refusalOf(payload)).not.toContain('\n');
  });

  it('names the place of a cycle, however it is closed', () => {
    const order: Record<string, unknown> = { id: 1 };
    order['lines'] = [{ order }];
    expect(refusalOf({ order })).toContain('payload.order.lines[0].order leads back to an object that it is part of');
    expect(refusalOf(order)).toContain('payload.lines[0].order leads back');
  });

  it('finds a BigInt and a cycle behind objects that are there many times over', () => {
    let tree: unknown = { amount: 10n };
    for (let i = 0; i < 60; i++) tree = { left: tree, right: tree };
    expect(refusalOf(tree)).toMatch(/is a BigInt/);
  });

  it('accepts a BigInt if the application has taught BigInt how to be JSON', () => {
    const prototype = BigInt.prototype as { toJSON?: () => string };
    prototype.toJSON = function (this: bigint) {
      return this.toString();
    };
    try {
      expect(toJson({ payload: { amount: 10n } })).toBe('{"amount":"10"}');
    } finally {
      delete prototype.toJSON;
    }
  });

  it('says what to do, and names the serializer if one would help', () => {
    expect(refusalOf({ price: NaN })).toBe(
      'payload.price is NaN, which JSON would turn into null. Publish a finite number, or null, or keep it with the option ' +
        "'serializer' of the module or the topic (superjson fits).",
    );
    expect(refusalOf({ done: () => {} })).toBe('payload.done is a function, which JSON would leave out. Leave it out.');
  });

  it('speaks of what the serializer returned, if one did', () => {
    expect(refusalOf({ json: { at: NaN } }, true)).toBe(
      'serialize(payload).json.at is NaN, which JSON would turn into null. Publish a finite number, or null.',
    );
  });

  it('looks as deep as a payload goes, and cuts a path that nobody would read', () => {
    for (const depth of [49, 50, 51, 52, 2000]) {
      expect(refusalOf(nested(depth, NaN))).toContain('.next is NaN, which JSON would turn into null');
      expect(refusalOf(nested(depth, NaN)).length).toBeLessThan(500);
    }
  });

  it('refuses, and does not crash on, what is nested deeper than JSON can go, or has no end', () => {
    const endless = { toJSON: (): unknown => ({ again: { ...endless } }) };
    for (const payload of [nested(1_000_000, 10n), endless]) {
      expect(() => toJson({ payload })).toThrow(SerializationError);
    }
  });

  it('refuses what throws while it is written, with its reason', () => {
    const payload = {
      toJSON(): unknown {
        throw new TypeError('no session');
      },
    };
    expect(refusalOf({ payload })).toContain('(no session)');
  });
});
