import type { Command } from './keyspace.js';
import { ReplyError } from './reply-error.js';
import type { Entry, SortedSet } from './sorted-set.js';

const FLAGS = new Set(['XX', 'GT']);
const NO_ENTRIES: readonly Entry[] = [];

/** The first rank, and the one behind the last. */
type Range = readonly [from: number, till: number];

const NO_RANGE: Range = [0, 0];

function scoreOf(text: string): number {
  const score = text === 'inf' || text === '+inf' ? Infinity : text === '-inf' ? -Infinity : Number(text);
  if (Number.isNaN(score) || text === '') throw new ReplyError('ERR value is not a valid float');
  return score;
}

function shown(score: number): string {
  if (Number.isFinite(score)) return String(score);
  return score > 0 ? 'inf' : '-inf';
}

/** Returns the members, with their scores if asked for. */
function listed(entries: readonly Entry[], options: readonly string[]): string[] {
  if (!options.includes('WITHSCORES')) return entries.map(({ member }) => member);
  return entries.flatMap(({ member, score }) => [member, shown(score)]);
}

/** Returns the entries of a range of ranks, as far as they are asked for. */
function limited(set: SortedSet | undefined, [from, till]: Range, options: readonly string[]): readonly Entry[] {
  const isReverse = options.includes('REV');
  const at = options.indexOf('LIMIT');
  const skip = at === -1 ? 0 : Number(options[at + 1]);
  const count = at === -1 ? -1 : Number(options[at + 2]);
  const most = count < 0 ? Infinity : count;
  if (!isReverse) return set?.slice(from + skip, Math.min(till, from + skip + most)) ?? NO_ENTRIES;
  return set?.slice(Math.max(from, till - skip - most), till - skip).toReversed() ?? NO_ENTRIES;
}

/** Returns the range from one rank to another; negative ones are counted from the end. */
function ranked(set: SortedSet | undefined, start: string, stop: string): Range {
  if (!set) return NO_RANGE;
  const [from, till] = [start, stop].map((text) => (Number(text) < 0 ? set.size + Number(text) : Number(text)));
  return [Math.max(0, from as number), Math.max(0, (till as number) + 1)];
}

/** Counts the entries before those from a bound on: a score, or '(' and a score. */
function countBelow(set: SortedSet, bound: string, isEnd: boolean): number {
  const isOpen = bound.startsWith('(');
  const limit = scoreOf(isOpen ? bound.slice(1) : bound);
  return isOpen === isEnd
    ? set.countUntil(({ score }) => score >= limit)
    : set.countUntil(({ score }) => score > limit);
}

function byScore(set: SortedSet | undefined, min: string, max: string): Range {
  if (!set) return NO_RANGE;
  const from = countBelow(set, min, false);
  return [from, Math.max(from, countBelow(set, max, true))];
}

/** Counts the entries before those from a bound on: '-', '+', or '[' or '(' and a text. All have the same score. */
function countBefore(set: SortedSet, bound: string, isEnd: boolean): number {
  if (bound === '-') return 0;
  if (bound === '+') return set.size;
  const limit = bound.slice(1);
  return bound.startsWith('(') === isEnd
    ? set.countUntil(({ member }) => member >= limit)
    : set.countUntil(({ member }) => member > limit);
}

function byLex(set: SortedSet | undefined, min: string, max: string): Range {
  if (!set) return NO_RANGE;
  const from = countBefore(set, min, false);
  return [from, Math.max(from, countBefore(set, max, true))];
}

function rangeOf(set: SortedSet | undefined, start: string, stop: string, options: readonly string[]): Range {
  if (!options.includes('BYLEX')) return ranked(set, start, stop);
  return options.includes('REV') ? byLex(set, stop, start) : byLex(set, start, stop);
}

export const SORTED_SET_COMMANDS = {
  ZADD(keys, key, ...args) {
    const first = args.findIndex((one) => !FLAGS.has(one));
    const flags = new Set(args.slice(0, first));
    const pairs = args.slice(first);
    const scores = pairs.filter((_, i) => i % 2 === 0).map(scoreOf);
    const set = keys.ownSet(key);
    let added = 0;
    for (const [i, score] of scores.entries()) {
      const member = pairs[2 * i + 1] as string;
      const before = set.scoreOf(member);
      if (before === undefined ? flags.has('XX') : flags.has('GT') && score <= before) continue;
      if (set.set(member, score)) added++;
    }
    keys.deleteIfEmpty(key, set);
    return added;
  },
  ZREM(keys, key, ...members) {
    const set = keys.set(key);
    if (!set) return 0;
    const before = set.size;
    for (const member of members) set.delete(member);
    keys.deleteIfEmpty(key, set);
    return before - set.size;
  },
  ZREMRANGEBYRANK(keys, key, start = '', stop = '') {
    const set = keys.set(key);
    const gone = limited(set, ranked(set, start, stop), []);
    for (const { member } of gone) set?.delete(member);
    if (set) keys.deleteIfEmpty(key, set);
    return gone.length;
  },
  ZCARD: (keys, key) => keys.set(key)?.size ?? 0,
  ZSCORE(keys, key, member = '') {
    const score = keys.set(key)?.scoreOf(member);
    return score === undefined ? null : shown(score);
  },
  ZMSCORE(keys, key, ...members) {
    const set = keys.set(key);
    const scores = members.map((member) => set?.scoreOf(member));
    return scores.map((score) => (score === undefined ? null : shown(score)));
  },
  ZRANK: (keys, key, member = '') => keys.set(key)?.rankOf(member) ?? null,
  ZCOUNT(keys, key, min = '', max = '') {
    const [from, till] = byScore(keys.set(key), min, max);
    return till - from;
  },
  ZRANGEBYSCORE(keys, key, min = '', max = '', ...options) {
    const set = keys.set(key);
    return listed(limited(set, byScore(set, min, max), options), options);
  },
  ZRANGE(keys, key, start = '', stop = '', ...options) {
    const set = keys.set(key);
    return listed(limited(set, rangeOf(set, start, stop, options), options), options);
  },
  ZREVRANGE(keys, key, start = '', stop = '', ...options) {
    const set = keys.set(key);
    const last = String(-1 - Number(start));
    return listed(limited(set, ranked(set, String(-1 - Number(stop)), last), ['REV']), options);
  },
  ZRANGEBYLEX(keys, key, min = '', max = '', ...options) {
    const set = keys.set(key);
    return listed(limited(set, byLex(set, min, max), options), []);
  },
  ZLEXCOUNT(keys, key, min = '', max = '') {
    const [from, till] = byLex(keys.set(key), min, max);
    return till - from;
  },
} satisfies Readonly<Record<string, Command>>;
