import { expect, it } from 'vitest';
import { type Entry, SortedSet } from '../../../../lib/engines/embedded/data/sorted-set.js';
import { SeededRandom } from '../../../support/random.js';

it('keeps thousands of members in order, whatever comes and goes', () => {
  const random = new SeededRandom();
  const set = new SortedSet();
  const model = new Map<string, number>();
  const ordered = (): Entry[] =>
    Array.from(model, ([member, score]) => ({ member, score })).toSorted(
      (a, b) => a.score - b.score || (a.member < b.member ? -1 : 1),
    );
  const check = (): void => {
    const all = ordered();
    expect(set.size).toBe(all.length);
    expect(set.slice(0, Infinity)).toEqual(all);
    const [from, till] = [random.integer(0, all.length), random.integer(0, all.length + 1)];
    expect(set.slice(from, till)).toEqual(all.slice(from, till));
    const limit = random.integer(0, 499);
    expect(set.countUntil(({ score }) => score >= limit)).toBe(all.filter(({ score }) => score < limit).length);
    for (const { member } of all.slice(0, 3))
      expect(set.rankOf(member)).toBe(all.findIndex((one) => one.member === member));
  };
  const add = (member: string, score: number): boolean => {
    const isNew = !model.has(member);
    model.set(member, score);
    return set.set(member, score) === isNew;
  };
  const remove = (member: string): boolean => {
    const gone = random.next() < 0.9 ? member : (set.slice(0, 1)[0]?.member ?? member);
    return set.delete(gone) === model.delete(gone);
  };
  // It grows, is nearly emptied, at random and from the front, and grows again.
  for (const share of [0.9, 0.1, 0.8, 0.1]) {
    for (let step = 0; step < 6000; step++) {
      const member = `m${random.integer(0, 2999)}`;
      const isOfBoth = random.next() < share ? add(member, random.integer(0, 499)) : remove(member);
      expect(isOfBoth).toBe(true);
      if (step % 500 === 0) check();
    }
    check();
  }
});
