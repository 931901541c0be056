import { describe, expect, it } from 'vitest';
import { fingerprintOf, patternOf } from '../../../lib/admin/fingerprint.js';
import type { Failure } from '../../../lib/messages/failure.js';

const FAILURE: Failure = {
  reason: 'failed',
  name: 'Error',
  message: 'Order 42 is gone',
  code: 'E_GONE',
  stack: 'at 1',
};

describe('patternOf', () => {
  it.each([
    ['Order 42 is gone', 'Order <n> is gone'],
    ['timeout of 1.5 s, 30,000 ms in all', 'timeout of <n> s, <n> ms in all'],
    ['connect ECONNREFUSED 10.0.0.7:5432', 'connect ECONNREFUSED <n>:<n>'],
    ['no user 3f2504e0-4f89-41d3-9a0c-0305e82c3301', 'no user <uuid>'],
    ['no user 3F2504E0-4F89-41D3-9A0C-0305E82C3301!', 'no user <uuid>!'],
    ['object 507f1f77bcf86cd799439011 not found', 'object <hex> not found'],
    [`invalid value "Jane's" for 'name' in \`users\``, 'invalid value <text> for <text> in <text>'],
    ["can't connect, won't retry", "can't connect, won't retry"],
    ['the facade was defaced', 'the facade was defaced'],
    ['first line\n   second line', 'first line second line'],
    ['order-17a is locked', 'order-<n>a is locked'],
    ['No stock for order 01JDQZ3V9XKQ4M2T8B7N6C5WRP', 'No stock for order <id>'],
    ['Provider failed: request req_kQzRtYwPmBnVcX', 'Provider failed: request <id>'],
    ['No session V1StGXR8_Z5jdHi6B-myT', 'No session <id>'],
    ['Mailbox ada.l+x@mail.example.com is full', 'Mailbox <email> is full'],
    [
      'payment-provider-v2 in OrderTimeoutHandler of order_timeouts',
      'payment-provider-v<n> in OrderTimeoutHandler of order_timeouts',
    ],
    ['', ''],
  ])('%j is %j', (message, pattern) => {
    expect(patternOf(message)).toBe(pattern);
  });

  it('is short and quickly made, whatever was thrown', () => {
    const begin = performance.now();
    for (const piece of ["'", 'a@', 'a.b@c.', 'aB-', 'x_', '"x', 'a1', '1,', 'deadbeef-', '0'.repeat(12), ' ']) {
      expect(patternOf(piece.repeat(4096).slice(0, 4096)).length).toBeLessThanOrEqual(300);
    }
    // Milliseconds, where a pattern that backtracks takes minutes.
    expect(performance.now() - begin).toBeLessThan(10_000);
  });
});

describe('fingerprintOf', () => {
  it('is the same for what differs in numbers, ids and quoted parts, and in its stack', () => {
    expect(fingerprintOf({ ...FAILURE, message: 'Order 43 is gone', stack: 'at 2' })).toBe(fingerprintOf(FAILURE));
    expect(fingerprintOf(FAILURE)).toMatch(/^[0-9a-f]{16}$/);
  });

  it('never changes: stored filters and other processes rely on it', () => {
    expect(fingerprintOf(FAILURE)).toBe('c9fbd323bd5881e9');
  });

  it.each<Partial<Failure>>([
    { reason: 'unrecoverable' },
    { name: 'RangeError' },
    { code: 'E_LOST' },
    { message: 'Order 42 is lost' },
  ])('differs for %j', (difference) => {
    expect(fingerprintOf({ ...FAILURE, ...difference })).not.toBe(fingerprintOf(FAILURE));
  });

  it('distinguishes failures whose concatenated parts are equal', () => {
    const { code: _code, ...plain } = FAILURE;
    expect(fingerprintOf({ ...plain, name: 'a', code: 'b' })).not.toBe(fingerprintOf({ ...plain, name: 'ab' }));
  });
});
