import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { isAbortSignal, isDate, isError, isPlainObject, isUrl } from '../../../lib/checks/kinds.js';

/** A value of another realm, as Jest, node:vm and native modules hand them out. */
function foreign(code: string): unknown {
  return runInNewContext(code);
}

class Money {
  readonly amount = 1;
}

describe('what a value is', () => {
  it.each([
    [
      isError,
      [new TypeError('x'), foreign('new RangeError("x")'), new DOMException('x')],
      [{ message: 'x' }, 'x', null],
    ],
    [isDate, [new Date(NaN), foreign('new Date()')], [0, '2026-01-01', Object.create(Date.prototype)]],
    [
      isPlainObject,
      [{}, Object.create(null), foreign('({ a: 1 })')],
      [new Money(), [], new Map(), null, foreign('new Map()'), foreign('[]'), () => ({})],
    ],
    [isUrl, [new URL('redis://a')], ['redis://a', { href: 'redis://a' }]],
    [isAbortSignal, [new AbortController().signal], [new AbortController(), {}]],
  ] as const)('is not told by its class: %o', (is, those, others) => {
    expect(those.map((value) => is(value))).not.toContain(false);
    expect(others.map((value) => is(value))).not.toContain(true);
  });
});
