import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SEPARATOR, fromStoredId, toStoredId } from '../../../lib/messages/stored-id.js';
import { shown } from '../../support/shown.js';

const UUID = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';
const SHORT = '.EmJ3s3y8FSDP2-B4u1kn-F';

/** Ids as users choose them, and those that could be taken for something else. */
const ids = fc.oneof(
  fc.string({ minLength: 1, unit: 'grapheme' }),
  fc.uuid(),
  fc.uuid().map((uuid) => toStoredId(uuid)),
  fc.string({ minLength: 1, unit: fc.constantFrom('.', '-', 'a') }),
);

describe('the stored id', () => {
  it('of a message without a key of its own is its id', () => {
    expect(toStoredId('order-42', 'order-42')).toBe('order-42');
    expect(toStoredId('order-42')).toBe('order-42');
    expect(fromStoredId('order-42')).toEqual({ id: 'order-42', key: 'order-42' });
  });

  it('of a message with a key of its own has both, the id first', () => {
    expect(toStoredId('order-42', 'customer-7')).toBe('order-42\0customer-7');
    expect(fromStoredId('order-42\0customer-7')).toEqual({ id: 'order-42', key: 'customer-7' });
  });

  for (const [id, key] of [
    ['a', 'a'],
    ['a', 'b'],
    ['a:b', 'c:d'],
    ['ünï', '\u{1F600}'],
    [' ', '  '],
    ['x'.repeat(256), 'y'.repeat(256)],
    ['{a}', '{b}'],
    ['1', '01'],
    [UUID, UUID],
    [UUID, 'key'],
    ['id', UUID],
    [SHORT, SHORT],
    [`.${SHORT}`, 'key'],
    [UUID.toUpperCase(), UUID.toUpperCase()],
    ['.', '.'],
    ['..', '.'],
    ['.net', '.net'],
  ] as const) {
    it(`of ${shown(id)} and ${shown(key)} can be taken apart again`, () => {
      expect(fromStoredId(toStoredId(id, key))).toEqual({ id, key });
    });
  }

  it('has a UUID in short, and nothing else that looks like it', () => {
    expect(toStoredId(UUID)).toBe(SHORT);
    expect(toStoredId(UUID, 'key')).toBe(`${SHORT}\0key`);
    expect(toStoredId('id', UUID)).toBe(`id\0${SHORT}`);
    expect(toStoredId('id', SHORT)).toBe(`id\0.${SHORT}`);
    expect(toStoredId(SHORT)).toBe(`.${SHORT}`);
  });

  it('can be taken apart again, and differs if id or key differ, whatever they are', () => {
    fc.assert(
      fc.property(ids, ids, ids, ids, (id, key, otherId, otherKey) => {
        expect(fromStoredId(toStoredId(id, key))).toEqual({ id, key });
        const same = id === otherId && key === otherKey;
        expect(toStoredId(id, key) === toStoredId(otherId, otherKey)).toBe(same);
      }),
    );
  });

  for (const name of ['.', '.net', `${SHORT}-`, UUID]) {
    it(`of a message that no client has stored, ${shown(name)}, is told as it is`, () => {
      expect(fromStoredId(name)).toEqual({ id: name, key: name });
    });
  }

  it('differs if id or key differ', () => {
    const parts = ['a', 'b', 'ab', 'a:b', 'aa', ''];
    const pairs = parts.flatMap((id) => parts.map((key) => [id, key] as const)).filter(([id, key]) => id && key);
    const stored = new Set(pairs.map(([id, key]) => toStoredId(id, key)));

    expect(stored.size).toBe(pairs.length);
    expect(SEPARATOR).toBe('\u0000');
  });
});
