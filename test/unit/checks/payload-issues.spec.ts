import { describe, expect, it } from 'vitest';
import { toPayloadIssues } from '../../../lib/checks/payload-issues.js';

describe('toPayloadIssues', () => {
  for (const { path, text } of [
    { path: ['orderId'], text: 'orderId' },
    { path: ['order', 'id'], text: 'order.id' },
    { path: ['lines', 0, 'sku'], text: 'lines[0].sku' },
    { path: [0], text: '[0]' },
    { path: [0, 1, 'a'], text: '[0][1].a' },
    { path: [{ key: 'lines' }, { key: 0 }, { key: 'sku' }], text: 'lines[0].sku' },
    { path: [Symbol('s'), 'a'], text: 'Symbol(s).a' },
  ]) {
    it(`says where: ${text}`, () => {
      expect(toPayloadIssues([{ message: 'wrong', path }])).toEqual([{ message: 'wrong', path: text }]);
    });
  }

  it('leaves the path out if it is the payload as a whole', () => {
    const issues = [{ message: 'a' }, { message: 'b', path: [] }, { message: 'c', path: undefined }];

    expect(toPayloadIssues(issues)).toStrictEqual([{ message: 'a' }, { message: 'b' }, { message: 'c' }]);
  });

  it('keeps the first 10, and the beginning of long texts', () => {
    const issues = Array.from({ length: 1000 }, (_, i) => ({
      message: `${i} ${'x'.repeat(10_000)}`,
      path: Array.from({ length: 1000 }, () => 'deep'),
    }));

    const kept = toPayloadIssues(issues);

    expect(kept.map(({ message }) => message.slice(0, 3))).toEqual(Array.from({ length: 10 }, (_, i) => `${i} x`));
    for (const { message, path } of kept) expect([message.length, path?.length]).toEqual([500, 200]);
  });

  it('takes along nothing else of an issue', () => {
    const issue = { message: 'wrong', path: ['card'], input: '4111 1111 1111 1111', code: 'invalid' };

    expect(toPayloadIssues([issue])).toStrictEqual([{ message: 'wrong', path: 'card' }]);
  });
});
