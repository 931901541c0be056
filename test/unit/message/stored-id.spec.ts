import { describe, expect, it } from 'vitest';
import { SEPARATOR, fromStoredId, toStoredId } from '../../../lib/message/stored-id.js';
import { shown } from '../../support/contract-shown.js';

describe('the stored id', () => {
  it('of a message without a key of its own is its id', () => {
    expect(toStoredId('order-42', 'order-42')).toBe('order-42');
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
  ] as const) {
    it(`of ${shown(id)} and ${shown(key)} can be taken apart again`, () => {
      expect(fromStoredId(toStoredId(id, key))).toEqual({ id, key });
    });
  }

  it('differs where id or key differ', () => {
    const parts = ['a', 'b', 'ab', 'a:b', 'aa', ''];
    const pairs = parts.flatMap((id) => parts.map((key) => [id, key] as const)).filter(([id, key]) => id && key);
    const stored = new Set(pairs.map(([id, key]) => toStoredId(id, key)));

    expect(stored.size).toBe(pairs.length);
    expect(SEPARATOR).toBe('\u0000');
  });
});
