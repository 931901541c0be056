import { expect, it } from 'vitest';
import type { MessageDetails } from '../../../lib/admin/message-details.js';
import { type DashboardRedact, shownMessage } from '../../../lib/dashboard/redaction.js';

function shown(payload: unknown, redact?: DashboardRedact) {
  return shownMessage({ id: 'a', topic: 'jobs', raw: 'stored', payload } as MessageDetails, redact);
}

const itself: Record<string, unknown> = { a: 1 };
itself['self'] = itself;

it.each([
  [{ n: 12n }, { n: '12n' }],
  [new Map([['a', 1]]), "Map(1) { 'a' => 1 }"],
  [{ seen: new Set([1]) }, { seen: 'Set(1) { 1 }' }],
  [{ at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
  [
    [Number.NaN, /a+/],
    ['NaN', '/a+/'],
  ],
  [{ left: undefined, b: 1 }, { b: 1 }],
  [itself, '<ref *1> { a: 1, self: [Circular *1] }'],
])('what JSON cannot hold is shown in words, and cannot be edited: %o', (payload, words) => {
  const { payload: text, editable, redacted } = shown(payload);
  expect([text, editable, redacted]).toEqual([words, false, false]);
});

it.each([null, 'text', 1, false, { a: [{ b: null }] }])(
  'what is JSON is shown as it is, and can be edited: %j',
  (payload) => {
    expect(shown(payload)).toMatchObject({ payload, editable: true, redacted: false });
    expect(shown(payload, (one) => one)).toMatchObject({ payload, editable: true, redacted: false });
  },
);

const inPlace = (payload: unknown): unknown => Object.assign(payload as object, { a: 2 });

it('what redact has changed cannot be edited, also where it has changed what it was given', () => {
  expect(shown({ a: 1 }, inPlace)).toMatchObject({ payload: { a: 2 }, editable: false, redacted: true });
  expect(shown({ a: 1 }, () => ({ a: 1n }))).toMatchObject({ payload: { a: '1n' }, editable: false, redacted: true });
});

it('what cannot be decoded stays nothing, whatever redact makes of it', () => {
  expect(shown(undefined, () => 'hidden')).toMatchObject({ payload: undefined, editable: false, redacted: false });
});
