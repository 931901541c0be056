import { describe, expect, it } from 'vitest';
import { type Failure, toFailedAttempt } from '../../../lib/messages/failure.js';
import { decodeFailureRecord, encodeFailureRecord } from '../../../lib/messages/failure-record.js';

const FAILURE: Failure = {
  reason: 'crashed',
  name: 'Error',
  message: 'half a pair \uD83D, a line\nbreak, \u{1F600}, "history":[{}]',
  code: 'X',
  stack: 'at a\nat b',
  lastError: { reason: 'failed', name: 'string', message: "'before'" },
  issues: [{ message: 'no' }, { message: 'missing', path: 'a[0].b' }],
};

const RUN = { at: 1_767_268_800_000, attempt: 3, duration: 12 };

describe('a failure record', () => {
  it('is what was written', () => {
    const attempt = toFailedAttempt({ ...FAILURE, message: '{"a":[{}]} }{ \\' }, RUN);

    expect(decodeFailureRecord(encodeFailureRecord(FAILURE, attempt))).toEqual({
      failure: FAILURE,
      history: [attempt],
    });
    expect(decodeFailureRecord(encodeFailureRecord(FAILURE, undefined))).toEqual({ failure: FAILURE, history: [] });
  });

  it('is JSON with the history last, and no brace inside of an entry', () => {
    const attempt = toFailedAttempt({ ...FAILURE, message: 'a } b { c' }, RUN);
    const text = encodeFailureRecord({ reason: 'failed', name: 'E', message: 'm' }, attempt);

    expect(text).toBe(
      '{"reason":"failed","name":"E","message":"m","history":[{"at":1767268800000,"attempt":3,"name":"Error",' +
        '"message":"a \\u007d b \\u007b c","duration":12}]}',
    );
  });

  it('of a time before there were histories has none', () => {
    expect(decodeFailureRecord(JSON.stringify(FAILURE))).toEqual({ failure: FAILURE, history: [] });
  });

  it('that is no record is not read', () => {
    expect(decodeFailureRecord('')).toBeUndefined();
    expect(decodeFailureRecord('garbage{')).toBeUndefined();
    for (const text of [
      'null',
      '5',
      '[]',
      '"failed"',
      '{}',
      '{"reason":"failed"}',
      '{"reason":5,"name":"E","message":"m"}',
    ]) {
      expect(decodeFailureRecord(text)).toBeUndefined();
    }
    expect(decodeFailureRecord('{"reason":"no such","name":"E","message":"m"}')).toBeUndefined();
    expect(decodeFailureRecord('{"reason":"failed","name":null,"message":"m"}')).toBeUndefined();
  });

  it('leaves out of a record what is damaged, and keeps the rest', () => {
    const own = { reason: 'failed', name: 'E', message: 'm' } as const;
    const attempt = { at: 5, attempt: 1, name: 'E', message: 'm', duration: 2 };
    const damaged = [null, 5, {}, { ...attempt, at: 1e300 }, { ...attempt, at: 'x' }, { ...attempt, duration: '2' }];
    const more = { code: 5, stack: [], lastError: { reason: 'x' }, issues: [{ message: 'a' }, { path: 'b' }, null] };

    expect(decodeFailureRecord(JSON.stringify({ ...own, ...more, history: [...damaged, attempt] }))).toEqual({
      failure: { ...own, issues: [{ message: 'a' }] },
      history: [{ ...attempt, at: new Date(5) }],
    });
    expect(decodeFailureRecord(JSON.stringify({ ...own, history: 'x' }))).toEqual({ failure: own, history: [] });
  });

  it('keeps the failure if the entries of its history are no JSON', () => {
    const own = { reason: 'failed', name: 'E', message: '"history":[' } as const;
    const text = encodeFailureRecord(own, undefined).replace(/\]\}$/, '{broken},"history":[{x}]}');

    expect(decodeFailureRecord(text)).toEqual({ failure: own, history: [] });
  });

  it('does not follow failures that are nested without end', () => {
    const nested = '{"reason":"crashed","name":"E","message":"m","lastError":'.repeat(5000) + 'null' + '}'.repeat(5000);
    let depth = 0;
    for (let at = decodeFailureRecord(nested)?.failure; at; at = at.lastError) depth++;

    expect(depth).toBeGreaterThan(5);
    expect(depth).toBeLessThan(20);
  });
});

describe('toFailedAttempt', () => {
  it('is short, in whole milliseconds', () => {
    const failure: Failure = { reason: 'failed', name: 'N'.repeat(500), message: 'm'.repeat(4096) };
    expect(toFailedAttempt(failure, { at: 1000.9, attempt: 2, duration: 3.4 })).toEqual({
      at: new Date(1000),
      attempt: 2,
      name: 'N'.repeat(100),
      message: 'm'.repeat(200),
      duration: 3,
    });
  });

  it('takes at most 2 KiB in a record, whatever was thrown', () => {
    const failure: Failure = { reason: 'failed', name: '\u0000'.repeat(500), message: '\u0000'.repeat(4096) };
    const bare = Buffer.byteLength(encodeFailureRecord(failure, undefined));
    const full = Buffer.byteLength(encodeFailureRecord(failure, toFailedAttempt(failure, RUN)));
    expect(full - bare).toBeLessThanOrEqual(2048);
  });
});
