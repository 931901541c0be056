import { expect, it } from 'vitest';
import { parseRetryAfter } from '../../../lib/outbound/push/retry-after.js';

const NOW = Date.UTC(2026, 0, 1);
const MAX = 3_600_000;

function parse(value: string | undefined, date?: string): number | undefined {
  return parseRetryAfter(value, { date, now: NOW, max: MAX });
}

it.each([
  ['seconds', '120', 120_000],
  ['seconds with spaces around them', ' 7 ', 7000],
  ['less than a second', '0', 1000],
  ['more than is allowed', '86400', MAX],
  ['far more', '9'.repeat(400), MAX],
  ['a date', 'Thu, 01 Jan 2026 00:05:00 GMT', 300_000],
  ['a date that has passed', 'Wed, 31 Dec 2025 23:00:00 GMT', 1000],
  ['a date that is far away', 'Fri, 01 Jan 2027 00:00:00 GMT', MAX],
])('reads %s', (_, value, delay) => {
  expect(parse(value)).toBe(delay);
});

it('reads a date with the clock of the server that has said it', () => {
  const tenMinutesAhead = 'Thu, 01 Jan 2026 00:10:00 GMT';
  expect(parse('Thu, 01 Jan 2026 00:12:00 GMT', tenMinutesAhead)).toBe(120_000);
  expect(parse('Thu, 01 Jan 2026 00:12:00 GMT', 'whenever')).toBe(720_000);
});

it.each([undefined, '', 'soon', '-5', '1.5', '1e3', '0x10', '2026-01-01T00:05:00Z', 'Thu, 99 Jan 2026 00:05:00 GMT'])(
  'knows nothing of %j',
  (value) => {
    expect(parse(value)).toBeUndefined();
  },
);
