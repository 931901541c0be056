import { describe, expect, it, vi } from 'vitest';
import { assertTimeZone, localToEpoch } from '../../../lib/time/local-time.js';

function utc(local: string, timeZone: string): string {
  return new Date(localToEpoch('deliverAt', { local, timeZone })).toISOString();
}

/** Another one for each number: its bits say which letters are capitals. */
function spelling(word: string, number: number): string {
  return Array.from(word, (letter, i) => ((number >> i) & 1 ? letter.toUpperCase() : letter)).join('');
}

describe('localToEpoch', () => {
  it.each([
    ['2026-12-24T18:00', 'Europe/Berlin', '2026-12-24T17:00:00.000Z'],
    ['2026-07-01T18:00', 'Europe/Berlin', '2026-07-01T16:00:00.000Z'],
    ['2026-07-01T18:00:30', 'America/New_York', '2026-07-01T22:00:30.000Z'],
    ['2026-07-01T18:00:30.5', 'Asia/Kolkata', '2026-07-01T12:30:30.500Z'],
    ['2026-01-01T00:00', 'Pacific/Kiritimati', '2025-12-31T10:00:00.000Z'],
    ['2026-01-01T23:59', 'Pacific/Pago_Pago', '2026-01-02T10:59:00.000Z'],
    ['2024-02-29T12:00', 'UTC', '2024-02-29T12:00:00.000Z'],
  ])('%s in %s', (local, timeZone, expected) => {
    expect(utc(local, timeZone)).toBe(expected);
  });

  it.each([
    ['just before', '2026-03-29T01:59:59.999', '2026-03-29T00:59:59.999Z'],
    ['as much later as the clocks are put forward', '2026-03-29T02:00', '2026-03-29T01:00:00.000Z'],
    ['as much later as the clocks are put forward', '2026-03-29T02:30', '2026-03-29T01:30:00.000Z'],
    ['just after', '2026-03-29T03:00', '2026-03-29T01:00:00.000Z'],
  ])('takes a time that does not exist in Berlin: %s', (_, local, expected) => {
    expect(utc(local, 'Europe/Berlin')).toBe(expected);
  });

  it.each([
    ['just before', '2026-10-25T01:59', '2026-10-24T23:59:00.000Z'],
    ['the first of both', '2026-10-25T02:00', '2026-10-25T00:00:00.000Z'],
    ['the first of both', '2026-10-25T02:59', '2026-10-25T00:59:00.000Z'],
    ['just after', '2026-10-25T03:00', '2026-10-25T02:00:00.000Z'],
  ])('takes a time that exists twice in Berlin: %s', (_, local, expected) => {
    expect(utc(local, 'Europe/Berlin')).toBe(expected);
  });

  it('knows zones that change by half an hour, and at midnight', () => {
    // Lord Howe Island goes from 02:00 to 02:30, and back from 02:00 to 01:30.
    expect(utc('2026-10-04T02:15', 'Australia/Lord_Howe')).toBe('2026-10-03T15:45:00.000Z');
    expect(utc('2026-04-05T01:45', 'Australia/Lord_Howe')).toBe('2026-04-04T14:45:00.000Z');
    // Cairo goes from 00:00 to 01:00.
    expect(utc('2026-04-24T00:00', 'Africa/Cairo')).toBe('2026-04-23T22:00:00.000Z');
  });

  it('shows the time that was asked for, whenever it exists', () => {
    for (const timeZone of ['Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Asia/Tehran']) {
      const shown = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
      for (let hour = 0; hour < 366 * 24; hour += 41) {
        const local = new Date(Date.UTC(2026, 0, 1, hour, 20)).toISOString().slice(0, 19);
        const time = localToEpoch('deliverAt', { local, timeZone });
        // None of these hours is left out.
        expect(shown.format(time).replace(' ', 'T')).toBe(local);
      }
    }
  });

  it.each([
    '2026-12-24',
    '2026-12-24 18:00',
    '2026-12-24T18',
    '2026-12-24T18:00Z',
    '2026-12-24T18:00+01:00',
    '2026-02-29T12:00',
    '2026-13-01T12:00',
    '2026-12-24T24:00',
    '2026-12-24T18:60',
    '2026-12-24T18:00:60',
    '0000-00-00T00:00',
    '',
    42,
    null,
  ])('refuses %j', (local) => {
    expect(() => localToEpoch('deliverAt', { local: local as string, timeZone: 'UTC' })).toThrow(
      /^deliverAt\.local must be a date and time without an offset, such as '2026-12-24T18:00'/,
    );
  });

  it.each(['Europe/Nowhere', '', 'CEST+1', '+05:30', '-03', 42, undefined])('refuses time zone %j', (timeZone) => {
    expect(() => localToEpoch('deliverAt', { local: '2026-12-24T18:00', timeZone: timeZone as string })).toThrow(
      /^deliverAt\.timeZone must be a time zone of the IANA database, such as 'Europe\/Berlin' or 'UTC'\. Given: /,
    );
    expect(() => assertTimeZone('timeZone', timeZone)).toThrow(/^timeZone must be/);
  });

  it('remembers a thousand spellings of time zones at most', () => {
    const made = vi.spyOn(Intl, 'DateTimeFormat');
    const zone = 'Asia/Dhaka';
    assertTimeZone('timeZone', zone);
    assertTimeZone('timeZone', zone);
    expect(made).toHaveBeenCalledTimes(1);
    for (let i = 0; i < 1001; i++) assertTimeZone('timeZone', `Africa/${spelling('johannesburg', i)}`);
    made.mockClear();
    assertTimeZone('timeZone', zone);
    expect(made).toHaveBeenCalledTimes(1);
    made.mockRestore();
  });

  it('refuses what it does not know', () => {
    const time = { local: '2026-12-24T18:00', timezone: 'UTC' } as never;
    expect(() => localToEpoch('deliverAt', time)).toThrow(
      "no option 'timezone' in deliverAt. Did you mean 'timeZone'?",
    );
  });
});
