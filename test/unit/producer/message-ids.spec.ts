import { validate, version } from 'uuid';
import { describe, expect, it, vi } from 'vitest';
import { shortenUuid } from '../../../lib/messages/stored-id.js';
import { MessageIds } from '../../../lib/producer/publish-request.js';

describe('MessageIds', () => {
  it('makes UUIDs of version 7 that name the present time', () => {
    const before = Date.now();
    const { long: id, short } = new MessageIds().next();

    expect(validate(id)).toBe(true);
    expect(version(id)).toBe(7);
    expect(short).toBe(shortenUuid(id));
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBeGreaterThanOrEqual(before);
  });

  it('makes each greater than the one before, also within a millisecond, and beyond what it asks for at once', () => {
    const ids = new MessageIds();
    const made = Array.from({ length: 5000 }, () => ids.next().long);

    expect(made.toSorted()).toEqual(made);
    expect(new Set(made).size).toBe(5000);
  });

  it('goes on upwards when the clock is set back', () => {
    const ids = new MessageIds();
    const first = ids.next().long;
    vi.useFakeTimers({ now: Date.now() - 60_000, toFake: ['Date'] });
    try {
      expect(ids.next().long > first).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });

  it('does not repeat the random part', () => {
    const ids = new MessageIds();
    const ends = Array.from({ length: 2000 }, () => ids.next().long.slice(-10));

    expect(new Set(ends).size).toBe(2000);
  });
});
