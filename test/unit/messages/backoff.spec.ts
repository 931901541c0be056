import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../../lib/errors/options.errors.js';
import {
  DEFAULT_BACKOFF,
  type ResolvedBackoff,
  type StoredBackoff,
  backoffDelay,
  decodeBackoff,
  encodeBackoff,
  resolveStoredBackoff,
  toStoredBackoff,
} from '../../../lib/messages/backoff.js';
import { shown } from '../../support/shown.js';

function delays(backoff: ResolvedBackoff, attempts: number, random = 0): number[] {
  return Array.from({ length: attempts }, (_, i) => backoffDelay(backoff, i + 1, random));
}

describe('resolveStoredBackoff', () => {
  it('fixed: waits the same time before every attempt', () => {
    const backoff = resolveStoredBackoff('backoff', { type: 'fixed', delay: '10s' });

    expect(delays(backoff, 5)).toEqual([10_000, 10_000, 10_000, 10_000, 10_000]);
    expect(delays(backoff, 2, 0.999)).toEqual([10_000, 10_000]);
  });

  it('exponential: doubles up to five minutes, without jitter, if nothing else is said', () => {
    const backoff = resolveStoredBackoff('backoff', { type: 'exponential', delay: '1m' });

    expect(backoff).toEqual({ delay: 60_000, factor: 2, maxDelay: 300_000, jitter: 0 });
    expect(delays(backoff, 5)).toEqual([60_000, 120_000, 240_000, 300_000, 300_000]);
  });

  it('exponential: takes factor, greatest delay and jitter', () => {
    const given: StoredBackoff = { type: 'exponential', delay: 100, factor: 3, maxDelay: '2s', jitter: 0.5 };
    const backoff = resolveStoredBackoff('backoff', given);

    expect(delays(backoff, 5)).toEqual([100, 300, 900, 2000, 2000]);
    expect(backoffDelay(backoff, 1, 0.5)).toBe(125);
    expect(given).toEqual({ type: 'exponential', delay: 100, factor: 3, maxDelay: '2s', jitter: 0.5 });
  });

  it('exponential: a first delay over five minutes is its own greatest delay', () => {
    const backoff = resolveStoredBackoff('backoff', { type: 'exponential', delay: '1h' });

    expect(delays(backoff, 3)).toEqual([3_600_000, 3_600_000, 3_600_000]);
  });

  it('steps: waits what the list says, and then its last wait again and again', () => {
    const backoff = resolveStoredBackoff('backoff', { type: 'steps', delays: ['10s', '1m', 0, '1h'] });

    expect(backoff).toEqual({ delays: [10_000, 60_000, 0, 3_600_000], jitter: 0 });
    expect(delays(backoff, 6)).toEqual([10_000, 60_000, 0, 3_600_000, 3_600_000, 3_600_000]);
    expect(delays(backoff, 2, 0.999)).toEqual([10_000, 60_000]);
    expect(backoffDelay(backoff, 1000)).toBe(3_600_000);
  });

  it('steps: adds jitter to each, and leaves the list as it was', () => {
    const given: StoredBackoff = { type: 'steps', delays: Object.freeze([100, '1s']), jitter: 0.5 };
    const backoff = resolveStoredBackoff('backoff', given);

    expect(delays(backoff, 3, 0.5)).toEqual([125, 1250, 1250]);
    expect(given).toEqual({ type: 'steps', delays: [100, '1s'], jitter: 0.5 });
  });

  it('steps: takes one wait, and a hundred', () => {
    for (const list of [['10y'], Array.from({ length: 100 }, (_, i) => i)]) {
      const backoff = resolveStoredBackoff('backoff', { type: 'steps', delays: list, jitter: 1 });
      expect(backoff).toMatchObject({ jitter: 1 });
      expect(delays(backoff, 101).at(-1)).toBe(list.length === 1 ? 315_576_000_000 : 99);
    }
  });

  it('accepts the bounds of every number', () => {
    for (const [factor, jitter] of [
      [1, 0],
      [10, 1],
      [1.5, 0.2],
    ] as const) {
      expect(resolveStoredBackoff('backoff', { type: 'exponential', delay: 0, factor, jitter })).toMatchObject({
        factor,
        jitter,
      });
    }
    expect(resolveStoredBackoff('backoff', { type: 'fixed', delay: '10y' })).toMatchObject({ delay: 315_576_000_000 });
  });

  it('refuses a function, and says where it may be given', () => {
    const backoff = (() => 5) as unknown as StoredBackoff;

    expect(() => resolveStoredBackoff('backoff', backoff)).toThrow(InvalidArgumentError);
    expect(() => resolveStoredBackoff('backoff', backoff)).toThrow(/function cannot be stored.*handler or the topic/);
  });

  const exponential = { type: 'exponential', delay: 100 };
  for (const [wrong, text] of [
    [undefined, 'backoff must be an object'],
    [null, 'backoff must be an object'],
    ['fixed', "backoff must be an object, such as { type: 'exponential', delay: '1s' }. Given: 'fixed'."],
    [5000, 'backoff must be an object'],
    [[], 'backoff must be an object'],
    [{}, 'backoff.type must be one of'],
    [{ type: 'linear', delay: 1 }, "backoff.type must be one of 'fixed', 'exponential', 'steps'. Given: 'linear'"],
    [{ type: 'fixed' }, 'backoff.delay must be a duration'],
    [{ type: 'fixed', delay: 'soon' }, 'backoff.delay must be a duration'],
    [{ type: 'fixed', delay: -1 }, 'backoff.delay must be between 0 ms'],
    [{ type: 'fixed', delay: '11y' }, 'backoff.delay must be between 0 ms'],
    [{ type: 'fixed', delay: 1, factor: 2 }, "no option 'factor' in a fixed backoff"],
    [{ type: 'fixed', delay: 1, maxDelay: 2 }, "no option 'maxDelay' in a fixed backoff"],
    [{ type: 'fixed', delay: 1, jitter: 0 }, "no option 'jitter' in a fixed backoff"],
    [{ type: 'fixed', delays: [1] }, "no option 'delays' in a fixed backoff"],
    [{ ...exponential, delays: [1] }, "no option 'delays' in an exponential backoff"],
    [{ type: 'steps' }, 'backoff.delays must be a list of 1 to 100 durations, of which the last one repeats'],
    [
      { type: 'steps', delays: '1s' },
      "backoff.delays must be a list of 1 to 100 durations, of which the last one repeats. Given: '1s'",
    ],
    [{ type: 'steps', delays: null }, 'backoff.delays must be a list'],
    [
      { type: 'steps', delays: [] },
      'backoff.delays must be a list of 1 to 100 durations, of which the last one repeats. Given: a list of 0',
    ],
    [{ type: 'steps', delays: Array.from({ length: 101 }, () => 1) }, 'Given: a list of 101'],
    [{ type: 'steps', delays: [1, 'soon'] }, 'backoff.delays[1] must be a duration'],
    [{ type: 'steps', delays: [-1] }, 'backoff.delays[0] must be between 0 ms'],
    [{ type: 'steps', delays: [1, 2, '11y'] }, 'backoff.delays[2] must be between 0 ms'],
    [{ type: 'steps', delays: Array(2) }, 'backoff.delays[0] must be a duration'],
    [{ type: 'steps', delay: 1, delays: [1] }, "no option 'delay' in the backoff in steps"],
    [{ type: 'steps', delays: [1], factor: 2 }, "no option 'factor' in the backoff in steps"],
    [{ type: 'steps', delays: [1], jitter: 2 }, 'backoff.jitter must be a number from 0 to 1'],
    [{ ...exponential, max: 5 }, "no option 'max' in backoff"],
    [{ ...exponential, factor: 0.5 }, 'backoff.factor must be a number from 1 to 10. Given: 0.5'],
    [{ ...exponential, factor: 10.1 }, 'backoff.factor'],
    [{ ...exponential, factor: NaN }, 'backoff.factor'],
    [{ ...exponential, factor: '2' }, "backoff.factor must be a number from 1 to 10. Given: '2'"],
    [{ ...exponential, jitter: -0.1 }, 'backoff.jitter must be a number from 0 to 1'],
    [{ ...exponential, jitter: 1.1 }, 'backoff.jitter'],
    [{ ...exponential, jitter: NaN }, 'backoff.jitter'],
    [{ ...exponential, jitter: true }, 'backoff.jitter'],
    [{ ...exponential, maxDelay: 99 }, 'backoff.maxDelay must be between 100 ms'],
    [{ ...exponential, maxDelay: '11y' }, 'backoff.maxDelay'],
    [{ ...exponential, maxDelay: null }, 'backoff.maxDelay'],
  ] as const) {
    it(`refuses ${shown(wrong)}, and says what is wrong`, () => {
      expect(() => resolveStoredBackoff('backoff', wrong as StoredBackoff)).toThrow(InvalidArgumentError);
      expect(() => resolveStoredBackoff('backoff', wrong as StoredBackoff)).toThrow(text);
    });
  }
});

describe('backoffDelay', () => {
  it('by default doubles from one second to five minutes, with up to a fifth on top', () => {
    expect(delays(DEFAULT_BACKOFF, 11)).toEqual([
      1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000,
    ]);
    expect(delays(DEFAULT_BACKOFF, 2, 0.5)).toEqual([1100, 2200]);
  });

  it('adds jitter on top of the wait, and never takes from it', () => {
    for (let i = 0; i < 1000; i++) {
      const delay = backoffDelay(DEFAULT_BACKOFF, 3);
      expect(delay).toBeGreaterThanOrEqual(4000);
      expect(delay).toBeLessThanOrEqual(4800);
      expect(Number.isInteger(delay)).toBe(true);
    }
  });

  it('spreads over the whole of the jitter', () => {
    const waits = Array.from({ length: 1000 }, () => backoffDelay(DEFAULT_BACKOFF, 1));

    expect(Math.min(...waits)).toBeLessThan(1050);
    expect(Math.max(...waits)).toBeGreaterThan(1150);
  });

  it('rounds up to whole milliseconds', () => {
    expect(backoffDelay({ delay: 1, factor: 1.1, maxDelay: 1000, jitter: 0 }, 2)).toBe(2);
  });

  it('stays at its greatest delay, however many attempts', () => {
    const backoff = { delay: 10, factor: 10, maxDelay: 5000, jitter: 0 };

    for (const attempt of [4, 100, 400, 1000]) expect(backoffDelay(backoff, attempt)).toBe(5000);
  });

  it('stays at no wait, however many attempts', () => {
    const backoff = { delay: 0, factor: 10, maxDelay: 5000, jitter: 1 };

    for (const attempt of [1, 2, 309, 310, 1000]) expect(backoffDelay(backoff, attempt)).toBe(0);
  });
});

describe('encodeBackoff', () => {
  it('is undone by decodeBackoff, also through JSON', () => {
    const backoff = { delay: 250, factor: 1.5, maxDelay: 60_000, jitter: 0.25 };

    expect(decodeBackoff(encodeBackoff(backoff))).toEqual(backoff);
    expect(decodeBackoff(JSON.parse(JSON.stringify(encodeBackoff(backoff))))).toEqual(backoff);
    expect(JSON.stringify(encodeBackoff(backoff))).toBe('[250,1.5,60000,0.25]');
  });

  it('is undone by decodeBackoff for steps too', () => {
    for (const list of [[0], [1, 2], [1, 2, 3, 4]]) {
      const backoff = { delays: list, jitter: 0.25 };
      expect(decodeBackoff(JSON.parse(JSON.stringify(encodeBackoff(backoff))))).toEqual(backoff);
    }
    expect(JSON.stringify(encodeBackoff({ delays: [1000, 60_000], jitter: 0 }))).toBe('[[1000,60000],0]');
  });
});

it.each([
  [{ type: 'fixed', delay: 500 }],
  [{ type: 'exponential', delay: 500, factor: 1, maxDelay: 500, jitter: 0.5 }],
  [{ type: 'exponential', delay: 500, factor: 2, maxDelay: 900, jitter: 0 }],
  [{ type: 'steps', delays: [1, 2], jitter: 0.5 }],
] as const)('toStoredBackoff gives %j back', (backoff) => {
  expect(toStoredBackoff(resolveStoredBackoff('backoff', backoff))).toEqual(backoff);
});
