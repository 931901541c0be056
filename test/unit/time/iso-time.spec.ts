import { describe, expect, it } from 'vitest';
import { isoToEpoch } from '../../../lib/time/iso-time.js';

describe('isoToEpoch()', () => {
  it.each([
    ['2026-12-24T18:00:00Z', Date.UTC(2026, 11, 24, 18)],
    ['2026-12-24T18:00+01:00', Date.UTC(2026, 11, 24, 17)],
    ['2026-12-24T18:00:00.250-0130', Date.UTC(2026, 11, 24, 19, 30, 0, 250)],
    ['2024-02-29T00:00Z', Date.UTC(2024, 1, 29)],
  ])('reads %s', (text, time) => {
    expect(isoToEpoch(text)).toBe(time);
  });

  it.each([
    '2026-12-24',
    '2026-12-24T18:00',
    '2026-02-30T00:00Z',
    '2026-13-01T00:00Z',
    '2026-12-24T25:00Z',
    '24.12.2026',
    '',
  ])('refuses %j', (text) => {
    expect(isoToEpoch(text)).toBeUndefined();
  });
});
