import { describe, expect, it } from 'vitest';
import { SortedSet } from '../../../../lib/broker/memory/sorted-set.js';
import { SeededRandom } from '../../../support/random.js';

function membersOf(set: SortedSet): string[] {
  return [...set].map(({ member }) => member);
}

describe('SortedSet', () => {
  it('is empty at first', () => {
    const set = new SortedSet();

    expect([set.size, set.first, membersOf(set), set.score('a')]).toEqual([0, undefined, [], undefined]);
  });

  it('orders by score, equal scores by member', () => {
    const set = new SortedSet();
    for (const [member, score] of [
      ['b', 2],
      ['c', 1],
      ['a', 2],
      ['d', -5],
      ['B', 2],
    ] as const) {
      set.set(member, score);
    }

    expect(membersOf(set)).toEqual(['d', 'c', 'B', 'a', 'b']);
    expect(set.first).toEqual({ member: 'd', score: -5 });
    expect(set.size).toBe(5);
  });

  it('moves a member when it is set again', () => {
    const set = new SortedSet();
    set.set('a', 1);
    set.set('b', 2);
    set.set('a', 3);

    expect(membersOf(set)).toEqual(['b', 'a']);
    expect(set.score('a')).toBe(3);
    expect(set.size).toBe(2);
  });

  it('deletes, and returns whether there was something', () => {
    const set = new SortedSet();
    set.set('a', 1);

    expect(set.delete('b')).toBe(false);
    expect(set.delete('a')).toBe(true);
    expect(set.delete('a')).toBe(false);
    expect(set.size).toBe(0);
    expect(set.score('a')).toBeUndefined();
  });

  it('returns what is due, including the bound, up to a limit', () => {
    const set = new SortedSet();
    for (const score of [1, 2, 3, 4]) set.set(`at ${score}`, score);

    expect(set.upTo(0)).toEqual([]);
    expect(set.upTo(3).map(({ score }) => score)).toEqual([1, 2, 3]);
    expect(set.upTo(3, 2).map(({ score }) => score)).toEqual([1, 2]);
    expect(set.upTo(3, 0)).toEqual([]);
    expect(set.upTo(Infinity)).toHaveLength(4);
  });

  it('returns a separate list, which a change does not affect', () => {
    const set = new SortedSet();
    set.set('a', 1);
    set.set('b', 1);
    for (const { member } of set.upTo(1)) set.delete(member);

    expect(set.size).toBe(0);
  });

  it('agrees with a plain list, whatever the operations', () => {
    const random = new SeededRandom();
    const set = new SortedSet();
    const plain = new Map<string, number>();
    for (let step = 0; step < 5000; step++) {
      const member = `m${random.integer(0, 60)}`;
      const remove = random.next() < 0.4;
      expect(remove && set.delete(member)).toBe(remove && plain.delete(member));
      if (!remove) {
        const score = random.integer(0, 20);
        set.set(member, score);
        plain.set(member, score);
      }
      if (step % 50 > 0) continue;
      const expected = [...plain].toSorted(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));
      expect(membersOf(set)).toEqual(expected.map(([name]) => name));
      const bound = random.integer(0, 20);
      expect(set.upTo(bound)).toHaveLength(expected.filter(([, score]) => score <= bound).length);
    }
  });
});
