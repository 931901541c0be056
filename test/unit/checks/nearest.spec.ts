import { describe, expect, it } from 'vitest';
import { didYouMean, nearest } from '../../../lib/checks/nearest.js';

describe('nearest', () => {
  it.each([
    { given: 'order.timout', meant: 'order.timeout', what: 'a letter is missing' },
    { given: 'order.timeoutt', meant: 'order.timeout', what: 'a letter is too much' },
    { given: 'ordre.timeout', meant: 'order.timeout', what: 'two letters are swapped' },
    { given: 'order-timeout', meant: 'order.timeout', what: 'a letter is another one' },
    { given: 'Order.Timeout', meant: 'order.timeout', what: 'its case differs' },
    { given: 'order', meant: 'orders', what: 'it is the singular' },
  ])('finds what was meant if $what: $given', ({ given, meant }) => {
    expect(nearest(given, ['invoice', 'orders', 'order.timeout'])).toBe(meant);
  });

  it('finds nothing if more than a third differs, or nothing is known', () => {
    expect(nearest('timeout', ['order.timeout', 'invoice'])).toBeUndefined();
    expect(nearest('ab', ['ax'])).toBeUndefined();
    expect(nearest('abc', ['axc'])).toBe('axc');
    expect(nearest('abc', ['xyc'])).toBeUndefined();
    expect(nearest('order', [])).toBeUndefined();
  });

  it('prefers the name that differs least, and of two the first', () => {
    expect(nearest('jobs.email', ['jobs.mails', 'jobs.e-mail', 'jobs.emails'])).toBe('jobs.e-mail');
    expect(nearest('jobs.emial', ['jobs.mails', 'jobs.email'])).toBe('jobs.email');
  });
});

describe('didYouMean', () => {
  it('is a question to put behind a sentence, or nothing', () => {
    expect(didYouMean('concurency', ['concurrency', 'lease'])).toBe(" Did you mean 'concurrency'?");
    expect(didYouMean('colour', ['concurrency', 'lease'])).toBe('');
  });
});
