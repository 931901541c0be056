import { describe, expect, it } from 'vitest';
import { Cli } from '../../../lib/cli/cli.js';
import type { GlobalOptions } from '../../../lib/cli/program.js';
import { FakeTerminal } from '../../support/cli/fake-terminal.js';
import { cut, shown, shownCount, shownLines, shownValue } from '../../../lib/cli/text.js';
import { relative, shownDuration, shownTime } from '../../../lib/cli/times.js';
import { toJson } from '../../../lib/cli/json.js';

describe('a duration is shown in its two largest units', () => {
  it.each([
    [0, '0ms'],
    [999.4, '999ms'],
    [999.5, '1s'],
    [1000, '1s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [61_000, '1m 1s'],
    [3_600_000, '1h'],
    [3_605_000, '1h'],
    [5_400_000, '1h 30m'],
    [90_000_000, '1d 1h'],
    [10 * 365 * 86_400_000, '3650d'],
    [-5, '0ms'],
  ])('%d ms: %s', (milliseconds, text) => {
    expect(shownDuration(milliseconds)).toBe(text);
  });
});

describe('a time is shown as it is, and from now on', () => {
  const now = Date.UTC(2026, 0, 1, 12);

  it.each([
    [now + 90_000, 'in 1m 30s'],
    [now, 'now'],
    [now + 0.4, 'now'],
    [now - 1500, '1s ago'],
  ])('%d', (time, text) => {
    expect(relative(new Date(time), now)).toBe(text);
  });

  it('with its date', () => {
    expect(shownTime(new Date(now + 1000), now)).toBe('2026-01-01T12:00:01.000Z (in 1s)');
    expect(shownTime(undefined, now)).toBe('-');
  });
});

describe('a text of somebody else', () => {
  it.each([
    ['a b', 'a b'],
    ['grüße 你好', 'grüße 你好'],
    ['a\nb\tc', 'a\\nb\\tc'],
    ['\u001B[31mred', '\\u001b[31mred'],
    ['\u0007\u009B', '\\u0007\\u009b'],
    ['line\u2028end', 'line\\u2028end'],
    // Changes the direction in which the rest of the line is read.
    ['a\u202Eb', 'a\\u202eb'],
  ])('%j does nothing to the terminal', (text, safe) => {
    expect(shown(text)).toBe(safe);
  });

  it('keeps its lines where it may', () => {
    expect(shownLines('a\u0007\nb')).toBe('a\\u0007\nb');
  });

  it('is cut with a sign that it was', () => {
    expect([cut('abcdef', 6), cut('abcdef', 4), cut('abcdef', 0)]).toEqual(['abcdef', 'abc…', '…']);
  });
});

describe('whatever is printed', () => {
  const evil = 'a\u001B]0;title\u0007\u009B31m\u001B[31m\rb\nc';
  const safe = 'a\\u001b]0;title\\u0007\\u009b31m\\u001b[31m\\u000db\nc';

  it.each([
    { isTTY: false, printed: safe },
    { isTTY: true, printed: safe.replace('\\u001b[31m', '\u001B[31m') },
  ])('does nothing to the terminal but colours, if it is one: $isTTY', async ({ isTTY, printed }) => {
    const terminal = new FakeTerminal({ isTTY });
    const cli = new Cli(terminal, () => ({ color: true }) as GlobalOptions);
    cli.print({}, () => [evil]);
    cli.note(evil);
    await new Promise(setImmediate);
    expect([terminal.output, terminal.errors]).toEqual([`${printed}\n`, `${printed}\n`]);
  });

  it('has no control character in JSON, and means the same', () => {
    expect(toJson({ [evil]: evil })).not.toMatch(/\p{Cc}/u);
    expect(JSON.parse(toJson({ [evil]: evil }))).toEqual({ [evil]: evil });
  });
});

it('a payload is shown in one line, and told apart from none', () => {
  expect([shownValue({ a: '\n' }), shownValue(null), shownValue(undefined)]).toEqual(['{"a":"\\n"}', 'null', '-']);
});

it('counts have their noun', () => {
  expect([shownCount(1, 'topic'), shownCount(0, 'topic'), shownCount(12_345, 'topic')]).toEqual([
    '1 topic',
    '0 topics',
    '12,345 topics',
  ]);
});

it('JSON has what is not known as null, and times in ISO 8601', () => {
  expect(toJson({ at: new Date(0), key: undefined, list: [undefined] })).toBe(
    '{"at":"1970-01-01T00:00:00.000Z","key":null,"list":[null]}',
  );
});
