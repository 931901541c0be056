import { describe, expect, it } from 'vitest';
import { DeadLetterGrouping } from '../../../lib/admin/dead-letter-groups.js';
import { fingerprintOf } from '../../../lib/admin/fingerprint.js';
import type { Failure } from '../../../lib/messages/failure.js';

const GONE: Failure = { reason: 'failed', name: 'Error', message: 'Order 1 is gone' };
const TIMEOUT: Failure = { reason: 'failed', name: 'HandlerTimeoutError', message: 'after 5 ms', code: 'TIMEOUT' };

function letter(i: number) {
  return { storedId: `m${i}`, diedAt: i, failure: { ...GONE, name: `Error${i}` } };
}

describe('DeadLetterGrouping', () => {
  it('is empty without dead letters', () => {
    expect(new DeadLetterGrouping().result()).toEqual({ total: 0, groups: [], ungrouped: 0 });
  });

  it('counts, with first and last time and the latest as an example, the largest group first', () => {
    const grouping = new DeadLetterGrouping();
    grouping.add({ storedId: 'a', diedAt: 20, failure: TIMEOUT });
    grouping.add({ storedId: 'b\0key', diedAt: 30, failure: { ...GONE, message: 'Order 2 is gone' } });
    grouping.add({ storedId: 'c', diedAt: 10, failure: { ...GONE, message: 'Order 3 is gone', stack: 'long' } });
    grouping.add({ storedId: 'd', diedAt: 15, failure: undefined });

    expect(grouping.result()).toEqual({
      total: 4,
      groups: [
        {
          fingerprint: fingerprintOf(GONE),
          reason: 'failed',
          name: 'Error',
          code: undefined,
          pattern: 'Order <n> is gone',
          count: 2,
          firstAt: new Date(10),
          lastAt: new Date(30),
          example: { id: 'b', key: 'key' },
        },
        {
          fingerprint: fingerprintOf(TIMEOUT),
          reason: 'failed',
          name: 'HandlerTimeoutError',
          code: 'TIMEOUT',
          pattern: 'after <n> ms',
          count: 1,
          firstAt: new Date(20),
          lastAt: new Date(20),
          example: { id: 'a', key: 'a' },
        },
      ],
      ungrouped: 1,
    });
  });

  it('keeps 1,000 groups, continues to count in them, and counts the rest', () => {
    const grouping = new DeadLetterGrouping();
    for (let i = 0; i < 1500; i++) grouping.add(letter(i));
    grouping.add(letter(7));
    const { total, groups, ungrouped } = grouping.result();
    expect([total, groups.length, ungrouped]).toEqual([1501, 1000, 500]);
    expect(groups[0]).toMatchObject({ name: 'Error7', count: 2 });
  });
});
