import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { HandlerTimeoutError } from '../../../lib/errors/handling.errors.js';
import { InvalidPayloadError } from '../../../lib/errors/publishing.errors.js';
import { decodeFailureRecord, encodeFailureRecord } from '../../../lib/messages/failure-record.js';
import { summaryOf, toFailure, toInvalidFailure } from '../../../lib/messages/failure.js';

function thrower(): never {
  throw new Error('no look inside');
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable(new Error('x'), {});
  revoke();
  return proxy;
}

describe('toFailure', () => {
  it('keeps what an error gives as its reason, and what it consists of', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED ::1:443'), { code: 'ECONNREFUSED' });
    const fetchFailed = new TypeError('fetch failed', { cause: new AggregateError([refused, 'nothing'], '') });
    const kept = { name: 'Error', message: 'connect ECONNREFUSED ::1:443', code: 'ECONNREFUSED' };

    const failure = toFailure('failed', fetchFailed);
    expect(failure).toMatchObject({
      message: 'fetch failed',
      cause: { name: 'AggregateError', message: '', errors: [kept, { name: 'string', message: "'nothing'" }] },
    });
    expect(summaryOf(failure)).toBe('TypeError: fetch failed (connect ECONNREFUSED ::1:443)');
    expect(decodeFailureRecord(encodeFailureRecord(failure, undefined))?.failure).toEqual(failure);
  });

  it('keeps few of many reasons, and none that lead in a circle', () => {
    const circle = new Error('circle');
    circle.cause = new Error('back', { cause: circle });
    expect(toFailure('failed', circle)).toMatchObject({ cause: { message: 'back' } });
    expect(toFailure('failed', circle).cause).not.toHaveProperty('cause');

    const deep = Array.from({ length: 50 }).reduce<Error>(
      (cause, _, i) => new Error(`x${i}`, { cause }),
      new Error('x'),
    );
    const wide = new AggregateError(
      Array.from({ length: 50 }, () => deep),
      'all',
    );
    expect(JSON.stringify({ ...toFailure('failed', wide), stack: '' }).length).toBeLessThan(1000);
  });

  it('keeps name, message and stack of an error', () => {
    const error = new TypeError('boom');

    expect(toFailure('failed', error)).toEqual({
      reason: 'failed',
      name: 'TypeError',
      message: 'boom',
      stack: error.stack,
    });
  });

  it('keeps a code that is a text', () => {
    const error = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });

    expect(toFailure('failed', error)).toMatchObject({ code: 'ECONNREFUSED' });
    expect(toFailure('failed', new HandlerTimeoutError(50))).toMatchObject({
      name: 'HandlerTimeoutError',
      code: 'HANDLER_TIMEOUT',
    });
    expect(toFailure('failed', Object.assign(new Error('x'), { code: 404 }))).not.toHaveProperty('code');
  });

  it('cuts long texts', () => {
    const long = 'x'.repeat(100_000);
    const failure = toFailure('failed', Object.assign(new Error(long), { name: long, code: long }));

    expect(failure.message).toHaveLength(4096);
    expect([failure.name.length, failure.code?.length]).toEqual([200, 200]);
    expect(failure.stack?.length).toBeLessThanOrEqual(4096);
  });

  for (const [thrown, name, message] of [
    ['a text', 'string', "'a text'"],
    [42, 'number', '42'],
    [undefined, 'undefined', 'undefined'],
    [null, 'object', 'null'],
    [{ status: 500 }, 'object', '{ status: 500 }'],
    [Symbol('x'), 'symbol', 'Symbol(x)'],
  ] as const) {
    it(`makes something of ${message} that was thrown`, () => {
      expect(toFailure('failed', thrown)).toEqual({ reason: 'failed', name, message });
    });
  }

  it('makes something of errors that are not as they should be', () => {
    const odd = Object.assign(new Error('x'), { name: 5, message: { not: 'a text' }, stack: undefined });

    const failure = toFailure('failed', odd);

    expect(failure).toMatchObject({ name: '5', message: '[object Object]' });
    expect(() => JSON.stringify(failure)).not.toThrow();
  });

  for (const [what, thrown] of [
    ['a revoked proxy', revoked()],
    ['an object that fails to show itself', { [inspect.custom]: () => thrower() }],
    ['an object whose prototype cannot be read', new Proxy({}, { getPrototypeOf: () => thrower() })],
    ['an error whose message cannot be read', Object.defineProperty(new Error('x'), 'message', { get: thrower })],
  ] as const) {
    it(`makes something of ${what}`, () => {
      expect(toFailure('failed', thrown)).toMatchObject({ reason: 'failed', message: expect.any(String) as string });
    });
  }

  it('makes something of an error from another realm', () => {
    const error: unknown = runInNewContext('new TypeError("boom")');

    expect(toFailure('failed', error).message).toContain('boom');
  });

  it('keeps the reason it is told', () => {
    for (const reason of ['failed', 'unrecoverable', 'crashed', 'expired', 'invalid', 'undecodable'] as const) {
      expect(toFailure(reason, new Error('x')).reason).toBe(reason);
    }
  });
});

describe('toInvalidFailure', () => {
  it('keeps the error, and what the schema found', () => {
    const error = new InvalidPayloadError('orders', [{ message: 'too short', path: ['lines', 0, { key: 'sku' }] }]);

    expect(toInvalidFailure(error)).toEqual({
      reason: 'invalid',
      name: 'InvalidPayloadError',
      code: 'INVALID_PAYLOAD',
      message: error.message,
      stack: error.stack,
      issues: [{ message: 'too short', path: 'lines[0].sku' }],
    });
  });
});
