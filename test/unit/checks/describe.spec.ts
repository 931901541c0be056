import { describe as suite, expect, it } from 'vitest';
import { describe, enumerate } from '../../../lib/checks/describe.js';

suite('a value in an error message', () => {
  for (const [value, text] of [
    [42, '42'],
    ['42', "'42'"],
    ['', "''"],
    [undefined, 'undefined'],
    [null, 'null'],
    [NaN, 'NaN'],
    [10n, '10n'],
    [{ a: 1 }, '{ a: 1 }'],
    [{ a: { b: { c: 1 } } }, '{ a: { b: [Object] } }'],
    [[1, 2], '[ 1, 2 ]'],
    [new Date(NaN), 'Invalid Date'],
    ['line\nbreak', "'line\\nbreak'"],
  ] as const) {
    it(`is shown as ${text}, with its type visible`, () => {
      expect(describe(value)).toBe(text);
    });
  }

  const LARGE: Readonly<Record<string, unknown>> = {
    'a long text': 'x'.repeat(10_000),
    'a long array': Array.from({ length: 1000 }, (_, i) => i),
    'a large object': Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key${i}`, i])),
    'a deep object': { a: { b: { c: { d: { e: 'f' } } } } },
    'a map': new Map(Array.from({ length: 100 }, (_, i) => [i, { i }])),
    'a buffer': Buffer.alloc(1000),
    'a function': expect,
    'an object of texts with line breaks': { a: 'x\ny', b: ['x\ny', 'x\ny'] },
    'an error': new Error('boom'),
    'an object that holds an error': { error: new TypeError('boom\nwith a second line') },
  };
  for (const [what, value] of Object.entries(LARGE)) {
    it(`keeps ${what} short and on one line`, () => {
      expect(describe(value).length).toBeLessThanOrEqual(120);
      expect(describe(value)).not.toContain('\n');
    });
  }

  it('shows a cycle', () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;

    expect(describe(cycle)).toContain('Circular');
  });
});

suite('items in a line of the log', () => {
  it('are named up to the tenth, and counted beyond', () => {
    const letters = 'abcdefghijkl'.split('');
    expect(enumerate(letters.slice(0, 2))).toBe('a, b');
    expect(enumerate(letters.slice(0, 10))).toBe('a, b, c, d, e, f, g, h, i, j');
    expect(enumerate(letters)).toBe('a, b, c, d, e, f, g, h, i, j and 2 more');
  });
});
