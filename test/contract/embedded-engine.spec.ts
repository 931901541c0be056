import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { luaRuntime } from '../../lib/engines/embedded/lua/lua-library.js';
import { GLOBALS, translate } from '../../scripts/setup/lua-translator.mjs';
import { EmbeddedTwin } from '../support/broker/embedded-twin.js';

const key = fc.constantFrom('a', 'b');
const member = fc.constantFrom('one', 'two', 'three', 'x\0y', 'x\x80', 'x\xff', '');
/** Halves are shown alike by every version of Redis. */
const score = fc.constantFrom('-inf', '-1.5', '0', '1', '2', '2.5', '1700000000000', '9007199254740992', 'inf');
const scoreBound = fc.tuple(fc.constantFrom('', '('), score).map(([open, at]) => open + at);
const textBound = fc.oneof(
  fc.constantFrom('-', '+'),
  fc.tuple(fc.constantFrom('[', '('), member).map(([open, at]) => open + at),
);
const rank = fc.integer({ min: -5, max: 5 }).map(String);
const limit = fc.oneof(
  fc.constant([]),
  fc
    .tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: -1, max: 3 }))
    .map(([skip, n]) => ['LIMIT', `${skip}`, `${n}`]),
);
const scores = fc.constantFrom<string[]>([], ['WITHSCORES']);
const value = fc.constantFrom('', '7', '-3', '4611686018427387904', '1.5', '07', 'text', '\xe2\x82\xac');
const members = fc.array(member, { minLength: 1, maxLength: 4 });

function command(name: string, ...parts: fc.Arbitrary<string | readonly string[]>[]): fc.Arbitrary<string[]> {
  return fc.tuple(...parts).map((given) => [name, ...given.flat()]);
}

/** All commands that scripts and operations use, but for those of time and of streams, which the contract has. */
const step = fc.oneof(
  command('ZADD', key, fc.constantFrom<string[]>([], ['GT'], ['XX'], ['XX', 'GT']), score, member),
  command('ZADD', key, score, member, score, member),
  command('ZREM', key, members),
  command('ZREMRANGEBYRANK', key, rank, rank),
  command('ZCARD', key),
  command('ZSCORE', key, member),
  command('ZMSCORE', key, members),
  command('ZRANK', key, member),
  command('ZCOUNT', key, scoreBound, scoreBound),
  command('ZRANGEBYSCORE', key, scoreBound, scoreBound, scores, limit),
  command('ZRANGE', key, rank, rank, scores),
  command('ZREVRANGE', key, rank, rank, scores),
  command('HSET', key, member, value, member, value),
  command('HSETNX', key, member, value),
  command('HGET', key, member),
  command('HMGET', key, members),
  command('HGETALL', key),
  command('HKEYS', key),
  command('HVALS', key),
  command('HLEN', key),
  command('HSTRLEN', key, member),
  command('HDEL', key, members),
  command('HINCRBY', key, member, value),
  command('HSCAN', key, fc.constant('0'), fc.constant(['MATCH', 'x*', 'COUNT', '100'])),
  command('SET', key, value),
  command('GET', key),
  command('DEL', key, key),
  command('TYPE', key),
  command('RENAME', key, key),
  command('PTTL', key),
);

/** Of members with one score, as Redis asks. */
const sameScore = fc.oneof(
  command('ZADD', fc.constant('same'), fc.constant('0'), member),
  command('ZREM', fc.constant('same'), members),
  command('ZRANGEBYLEX', fc.constant('same'), textBound, textBound, limit),
  command('ZLEXCOUNT', fc.constant('same'), textBound, textBound),
  command('ZRANGE', fc.constant('same'), textBound, textBound, fc.constant('BYLEX'), limit),
  command('ZRANGE', fc.constant('same'), textBound, textBound, fc.constant(['BYLEX', 'REV']), limit),
);

/** Pieces of Lua, each with what is odd in it. */
const PIECES = {
  'a number as a text': `local t = {} for _, n in ipairs({ 1, tonumber('-0'), 0.1, 1/3, 1e14, 1e15, 2^53, 123456789012345678, 1e100, -1e-7, 1/0, -1/0 })
    do t[#t + 1] = tostring(n) .. ' ' .. n end return t`,
  'a text as a number': `local t = {} for _, s in ipairs({ '5', ' 5 ', '5 5', '', ' ', '0x1F', '-0x1f', '1e2', '.5', '5.', 'inf', '-INF', 'nan', '1e', '5a' })
    do t[#t + 1] = tostring(tonumber(s)) end return t`,
  'text in arithmetic': `return { '10' + 5, '3' * '4', 10 .. '', -'2' }`,
  'what a script answers': `return { 1.9, -1.9, true, false, 'x', { 1, { 2 } }, redis.call('GET', 'none'), 7, nil, 8 }`,
  'a status': `return redis.call('SET', 'k', 'v')`,
  'a status as a table': `return redis.call('TYPE', 'k').ok`,
  'an error as an answer': `return redis.error_reply('WRONG thing')`,
  'an error caught': `local r = redis.pcall('HGET', KEYS[1], 'f') return { type(r), string.match(r.err, '^%a+') }`,
  'an error thrown': `return redis.call('HGET', KEYS[1], 'f')`,
  'a fault': `local t = nil return t.x`,
  'an error of its own': `error('BROKEN here')`,
  'division and remainder': `return { tostring(7 % 3), tostring(-7 % 3), tostring(7 % -3), tostring(5.5 % 2), tostring(7 / 2), tostring(2 ^ 10) }`,
  'the order of operators': `return { tostring(-2 ^ 2), tostring(2 ^ 3 ^ 2), tostring(not nil == true), 1 .. 2 .. 3, tostring(1 + 2 < 4 and 'yes') }`,
  'what counts as true': `return { 0 and 'zero', '' and 'empty', tostring(nil and 1), tostring(false or nil), 1 or 2, tostring(nil or false) }`,
  'comparing texts': `return { tostring('a' < 'b'), tostring('B' < 'a'), tostring('\\255' > 'z'), tostring('' < '\\0'), tostring('10' < '9') }`,
  'comparing what cannot be': `return 1 < '2'`,
  'equal only if of one type': `return { tostring(1 == '1'), tostring(1 == 1.0), tostring('a' ~= 'a') }`,
  'adding what cannot be': `return {} + 1`,
  'joining what cannot be': `return 'x' .. nil`,
  'calling what cannot be': `local f = 5 return f()`,
  'the length of a table': `local t = { 1, 2, 3 } t[4] = 4 t[2] = 9 t[4] = nil return { #t, #'four', #{ n = 1 }, #{ nil } }`,
  'entries beyond the end': `local t = {} t[3] = 3 t[2] = 2 t[1] = 1 return { #t, t[3], tostring(t[0]), tostring(t['1']) }`,
  'keys of any type': `local k = {} local t = { [k] = 'table', [true] = 'yes', [1.5] = 'half', x = 'name', 'first' } return { t[k], t[true], t[1.5], t.x, t[1] }`,
  'all values of a call': `local function f() return 1, 2, 3 end local a, b, c, d = f() local t = { f(), f() } return { a, b, c, tostring(d), #t, (f()), select('#', f(), f()) }`,
  'in parentheses one value': `local function f() return 1, 2 end local t = { (f()) } local function g() return (f()) end return { #t, select('#', (f())), select('#', g()) }`,
  'no value': `local function f() end local a = f() return { tostring(a), select('#', f()), select('#', (f())) }`,
  'any number of values': `local function f(...) local a, b = ... return select('#', ...), tostring(a), tostring(b), ... end return { f(1, 2, 3) }`,
  'a choice of values': `return { select(2, 'a', 'b', 'c') }`,
  'values of a table': `return { unpack({ 1, 2, 3, 4 }, 2, 3) }`,
  'assigning at once': `local a, b = 1, 2 a, b = b, a local i, t = 1, {} i, t[i] = i + 1, 20 return { a, b, i, t[1] }`,
  'what a block hides': `local x = 1 do local x = 2 end local function f() return x end local x = 3 return { f(), x }`,
  'a variable of a loop': `local all = {} for i = 1, 3 do all[i] = function() i = i + 1 return i end end return { all[1](), all[1](), all[2]() }`,
  loops: `local t = {} for i = 10, 1, -4 do t[#t + 1] = i end for i = 1, 0 do t[#t + 1] = 'never' end for i = 1, 2, 0.5 do t[#t + 1] = tostring(i) end
    local n = 3 while true do n = n - 1 if n == 0 then break end end repeat local last = n n = n + 1 until last == 2 return { unpack(t), n }`,
  'a step that is known late': `local t, step = {}, tonumber(ARGV[1]) for i = 3, 1, step do t[#t + 1] = i end for i = 1, 5, -2 * step do t[#t + 1] = i end return t`,
  'a function that is called where it stands': `return (function(a) return a + 1 end)(2)`,
  'going through a table': `local t, seen = { 1, 2, nil, 4 }, {} for i, v in ipairs(t) do seen[#seen + 1] = i * v end for k, v in pairs({ x = 5 }) do seen[#seen + 1] = k .. v end return seen`,
  'functions that know themselves': `local function f(n) return n == 0 and 1 or n * f(n - 1) end return f(5)`,
  'functions in tables': `local t = {} t.f = function(a) return a * 2 end function t.g(a) return a + 1 end return { t.f(4), t.g(4) }`,
  'changing a list': `local t = { 'c', 'a' } table.insert(t, 'b') table.insert(t, 1, 'd') table.sort(t) local s = table.concat(t, ',') table.sort(t, function(a, b) return a > b end) return { s, table.concat(t), table.concat({}, ',') }`,
  'sorting what is alike': `local t = {} for i = 1, 40 do t[i] = { i % 3, i } end table.sort(t, function(a, b) if a[1] ~= b[1] then return a[1] < b[1] end return a[2] < b[2] end) local s = {} for i, e in ipairs(t) do s[i] = e[2] end return s`,
  numbers: `return { math.floor(-1.5), math.ceil(1.2), math.min(3, 1, 2), math.max(3, 1, 2), tostring(math.huge), tostring(math.frexp(8)), select(2, math.frexp(10)), tostring(math.frexp(0.3)) }`,
  'parts of texts': `return { string.sub('abcdef', 2, 3), string.sub('abcdef', -2), string.sub('abc', 0), string.sub('abc', 3, 2), string.sub('abc', 2, 100), string.sub('abc', -100, 1), string.rep('ab', 3), string.rep('x', -1) }`,
  bytes: `return { string.byte('A'), string.byte('\\255'), string.byte('abc', 2, 3), select('#', string.byte('', 1)), #'\\226\\130\\172', '\\226\\130\\172' }`,
  'texts made by a pattern': `return { string.format('%d %s %x %X %02X %5d|%-5d|%05d', 42, 'x', 255, 255, 10, 7, 7, 7), string.format('%%'), string.format('%d', -1.9), string.format('%d', 2^53), string.format('%d', '12'), string.format('%s', 1.5), string.format('%.17g', 0.1), string.format('%.17g', 873345608162084.125), string.format('%.3g', 1234.5), string.format('%g', 100000), string.format('%g', 1e20) }`,
  'a pattern without its value': `return string.format('%d')`,
  'a value of another type': `return string.format('%d', 'x')`,
  finding: `return { string.find('a.b', '.', 1, true), string.find('abc', 'c', 1, true), string.find('hello', 'l+'), string.find('k=v', '(%a)=(%a)'), tostring(string.find('abc', 'z')), tostring(string.find('abc', 'a', 2)), string.find('abc', '', 10), string.find('aXb', '%u') }`,
  matching: `return { string.match('12 ab', '^(%d+) (%a+)$'), string.match('x=1,y=2', 'y=(%d)'), string.match('[tag] rest', '^%[([^%]]*)%] (.*)$'), tostring(string.match('abc', '^b')), string.match('a-b', '^(.-)%-'), string.match('aaa', 'a-'), string.match('  x', '()x'), string.match('\\0tail', '%z(.*)'), string.match('head\\0', '^(%Z*)'), string.match('r5f7', 'f%d+$'), string.match('-5', '^(%-?%d+)') }`,
  'matching from a place on': `return { string.match('a1b2', '%d', 3), tostring(string.match('a1', '^%d', 2)), string.match('abc', '.', -1) }`,
  'going through what matches': `local t = {} for w in string.gmatch('one two,three', '%a+') do t[#t + 1] = w end for k, v in string.gmatch('a=1, b=2', '(%w)=(%w)') do t[#t + 1] = k .. v end for e in string.gmatch('ab', '') do t[#t + 1] = '<' .. e .. '>' end return t`,
  replacing: `local s, n = string.gsub('a1b22', '%d+', '#') return { s, n, (string.gsub('ab', '', '-')), (string.gsub('k v', '(%a) (%a)', '%2=%1 %0 %%')), (string.gsub('abc', '%a', function(c) if c == 'b' then return 'X' end end)), (string.gsub('aa', '^a', 'b')), (string.gsub('\\128\\200x', '[\\128-\\255]+', '?')) }`,
  'classes of characters': `local t = {} for _, c in ipairs({ '%a', '%d', '%s', '%w', '%p', '%c', '%x', '%u', '%l', '%D', '%S', '%W', '.', '[%a_]', '[^%s]', '[a-c-]', '[]]', '[^]]' }) do
    t[#t + 1] = (string.gsub('aZ 0_-]\\t.\\200', c, '#')) end return t`,
} as const;

describe('the engine in this process', () => {
  let twin: EmbeddedTwin;

  beforeAll(async () => {
    twin = await EmbeddedTwin.start();
  });

  afterAll(() => twin.stop());

  it.each([
    ['all commands', step],
    ['those of one score', sameScore],
  ])('answers as Redis does: %s', async (_, steps) => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 20, maxLength: 60, size: 'max' }), async (calls) => {
        await twin.call('DEL', 'a', 'b', 'same');
        const done: string[] = [];
        for (const [name = '', ...args] of calls) {
          done.push([name, ...args].join(' '));
          const [redis, own] = await twin.call(name, ...args);
          expect(own, done.join('\n')).toEqual(redis);
        }
      }),
      { numRuns: 150 },
    );
  });

  it.each(Object.entries(PIECES))('runs Lua as Redis does: %s', async (_, source) => {
    await twin.call('SET', 'text', 'x');
    const [redis, own] = await twin.run(source, ['text'], ['-1']);
    expect(own).toEqual(redis);
  });

  it('shows every number as Redis does, in a script and in what it stores', async () => {
    const source = `redis.call('SET', KEYS[1], tonumber(ARGV[1])) return { tostring(tonumber(ARGV[1])), redis.call('GET', KEYS[1]), string.format('%d', ARGV[1]) }`;
    await fc.assert(
      fc.asyncProperty(fc.double({ noNaN: true }), async (number) => {
        const [redis, own] = await twin.run(source, ['number'], [String(number)]);
        expect(own, String(number)).toEqual(redis);
      }),
      { numRuns: 500 },
    );
  });

  it('has what the translation lets scripts use, and nothing else', () => {
    const { globals } = luaRuntime({ call: () => [], pcall: () => [], error_reply: () => [] });
    const names = Object.entries(globals).flatMap(([name, one]) =>
      typeof one === 'function' ? [name] : Object.keys(one).map((inner) => `${name}.${inner}`),
    );
    expect(names.toSorted()).toEqual([...GLOBALS].toSorted());
  });

  it.each([
    ['a global', 'return undeclared', "line 1: the global 'undeclared' is not translated"],
    [
      'a function of a library that there is not',
      "return string.len('x')",
      "line 1: the global 'string.len' is not translated",
    ],
    ['a method', 'local s = "x"\nreturn s:len()', 'line 2: a method is not translated'],
    ['what assigns a global', 'x = 1', "line 1: the global 'x' is not translated"],
    ['a call without parentheses', "return tostring 'x'", 'line 1: StringCallExpression is not translated'],
  ])('refuses what it does not translate: %s', (_, source, expected) => {
    expect(() => translate(source, 'tried')).toThrow(expected);
  });
});
