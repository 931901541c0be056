import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../../../../lib/consumer/delivery/verdict.js';
import { HandlerTimeoutError, RetryLaterError, UnrecoverableError } from '../../../../lib/errors/handling.errors.js';

const BACKOFF = { delay: 100, factor: 2, maxDelay: 10_000, jitter: 0 };

function ask(): never {
  return expect.fail('it was asked');
}

describe('outcomeOf', () => {
  it('retries after the backoff, and keeps the failure', () => {
    for (const [attempt, delay] of [
      [1, 100],
      [2, 200],
      [4, 800],
    ] as const) {
      expect(outcomeOf(new TypeError('boom'), { attempt, maxAttempts: 5 }, BACKOFF)).toMatchObject({
        kind: 'retry',
        delay,
        failure: { reason: 'failed', name: 'TypeError', message: 'boom' },
      });
    }
  });

  it('ends the message at its last attempt, and beyond', () => {
    for (const [attempt, maxAttempts] of [
      [5, 5],
      [1, 1],
      [7, 5],
    ] as const) {
      expect(outcomeOf(new Error('boom'), { attempt, maxAttempts }, BACKOFF)).toMatchObject({
        kind: 'dead',
        failure: { reason: 'failed', message: 'boom' },
      });
    }
  });

  it('ends the message at once if the error cannot be recovered from', () => {
    const outcome = outcomeOf(new UnrecoverableError('no such order'), { attempt: 1, maxAttempts: 5 }, BACKOFF);

    expect(outcome).toMatchObject({
      kind: 'dead',
      failure: { reason: 'unrecoverable', message: 'no such order', code: 'UNRECOVERABLE' },
    });
  });

  it('puts the message off if the handler asks for it, even at its last attempt', () => {
    for (const attempt of [1, 5]) {
      expect(outcomeOf(new RetryLaterError('30s'), { attempt, maxAttempts: 5 }, BACKOFF)).toEqual({
        kind: 'put-off',
        delay: 30_000,
      });
    }
  });

  it('treats a timeout as a failure like any other', () => {
    expect(outcomeOf(new HandlerTimeoutError(50), { attempt: 1, maxAttempts: 2 }, BACKOFF)).toMatchObject({
      kind: 'retry',
      failure: { reason: 'failed', code: 'HANDLER_TIMEOUT' },
    });
  });

  it('accepts whatever was thrown', () => {
    for (const thrown of [undefined, null, 'text', 42, {}]) {
      expect(outcomeOf(thrown, { attempt: 1, maxAttempts: 2 }, BACKOFF)).toMatchObject({ kind: 'retry', delay: 100 });
    }
  });

  describe('with a backoff function', () => {
    const state = { attempt: 3, maxAttempts: 5 };

    it('calls it with the failed attempt and its error', () => {
      const error = new Error('boom');
      const asked: unknown[] = [];
      const outcome = outcomeOf(error, state, (...args) => {
        asked.push(args);
        return '2s';
      });

      expect(asked).toEqual([[3, error]]);
      expect(outcome).toMatchObject({ kind: 'retry', delay: 2000 });
    });

    it('does not call it if there is no retry', () => {
      expect(outcomeOf(new Error('x'), { attempt: 5, maxAttempts: 5 }, ask).kind).toBe('dead');
      expect(outcomeOf(new UnrecoverableError('x'), state, ask).kind).toBe('dead');
      expect(outcomeOf(new RetryLaterError(1), state, ask).kind).toBe('put-off');
    });

    it('accepts any duration up to ten years, rounded up', () => {
      for (const [given, delay] of [
        [0, 0],
        [0.5, 1],
        ['10y', 315_576_000_000],
      ] as const) {
        expect(outcomeOf(new Error('x'), state, () => given)).toMatchObject({ delay });
      }
    });

    for (const [what, backoff] of [
      ['throws', () => JSON.parse('{') as number],
      ['answers NaN', () => NaN],
      ['answers a negative number', () => -1],
      ['answers too long a time', () => '11y'],
      ['answers Infinity', () => Infinity],
      ['answers nothing', () => undefined as unknown as number],
      ['answers a promise', () => Promise.resolve(5) as unknown as number],
      ['answers no duration', () => 'soon'],
    ] as const) {
      it(`that ${what}: retries after the default backoff, with the error of the handler`, () => {
        const outcome = outcomeOf(new Error('of the handler'), state, backoff);

        expect(outcome).toMatchObject({ kind: 'retry', failure: { message: 'of the handler' } });
        const delay = outcome.kind === 'retry' ? outcome.delay : NaN;
        expect(delay).toBeGreaterThanOrEqual(4000);
        expect(delay).toBeLessThanOrEqual(4800);
      });
    }
  });
});
