import { describe, expect, it } from 'vitest';
import { decodeCursor, encodeCursor } from '../../../lib/admin/peek-cursor.js';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import { shown } from '../../support/shown.js';

const POSITIONS = new Map([
  [0, { at: 1_767_268_800_000, storedId: 'a\0k' }],
  [1023, { at: 0.5, storedId: 'Grüße \u{1F600}' }],
]);

const DEAD = { topic: 'orders', state: 'dead' } as const;

const raw = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a cursor', () => {
  it('contains the place in each partition', () => {
    const cursor = encodeCursor(DEAD, POSITIONS);

    expect(cursor).toMatch(/^[\w-]+$/);
    expect(decodeCursor(cursor, DEAD)).toEqual(POSITIONS);
  });

  it.each([
    [42],
    [null],
    [''],
    ['no cursor'],
    [raw(null)],
    [raw(['orders', 'dead'])],
    [raw(['orders', 'dead', [0, 5]])],
    [raw(['orders', 'dead', [0, 5, 'a', 'b']])],
    [raw(['orders', 'dead', [0, 5, 'a'], 7])],
    [raw(['orders', 'dead', [-1, 5, 'a']])],
    [raw(['orders', 'dead', [2048, 5, 'a']])],
    [raw(['orders', 'dead', [0.5, 5, 'a']])],
    [raw(['orders', 'dead', [0, null, 'a']])],
    [raw(['orders', 'dead', [0, 5, 6]])],
    [raw(['orders', 'dead', [0, 5, 'a'], [0, 6, 'b']])],
    [encodeCursor({ ...DEAD, topic: 'other' }, POSITIONS)],
    [encodeCursor({ ...DEAD, state: 'scheduled' }, POSITIONS)],
    [encodeCursor({ ...DEAD, tag: 'x' }, POSITIONS)],
    [encodeCursor({ ...DEAD, key: 'x' }, POSITIONS)],
  ])('is refused if it is not a cursor of the list: %#', (cursor) => {
    const decode = (): unknown => decodeCursor(cursor, DEAD);
    expect(decode, shown(cursor)).toThrow(InvalidArgumentError);
    expect(decode).toThrow(
      /^cursor must be one that peek\(\) has returned for topic 'orders' and state 'dead'\. Given: /,
    );
  });
});
