import { describe, expect, it } from 'vitest';
import { Scrape } from './prometheus-text.js';

const COUNTER = '# HELP done_total What is done.\n# TYPE done_total counter\n';
/** What the parser says, and no fault of its own. */
const FAULT = /of a scrape|has no type|two values|counts less|is no histogram|^Not /;
const HISTOGRAM = '# HELP wait_seconds Time.\n# TYPE wait_seconds histogram\n';

describe('what Prometheus scrapes', () => {
  it('is read with its types, texts, labels and values', () => {
    const scrape = new Scrape(
      `${COUNTER}done_total{topic="a\\"b\\\\c\\nd",outcome="fine",} 1.5e+3\ndone_total 2 1700000000000\n\n` +
        '# HELP up Whether.\n# TYPE up gauge\nup -Inf\n' +
        `${HISTOGRAM}wait_seconds_bucket{le="0.1"} 1\nwait_seconds_bucket{le="+Inf"} 2\n` +
        'wait_seconds_sum 0.5\nwait_seconds_count 2\n',
    );
    expect([...scrape.families.keys()]).toEqual(['done_total', 'up', 'wait_seconds']);
    expect(scrape.families.get('done_total')).toMatchObject({ type: 'counter', help: 'What is done.' });
    expect(scrape.samples[0]).toEqual({
      name: 'done_total',
      labels: { topic: 'a"b\\c\nd', outcome: 'fine' },
      value: 1500,
    });
    expect(scrape.value('up')).toBe(-Infinity);
    expect(scrape.value('wait_seconds_bucket', { le: '+Inf' })).toBe(2);
    expect(scrape.value('wait_seconds_sum')).toBe(0.5);
  });

  it.each([
    ['a last line that does not end', `${COUNTER}done_total 1`],
    ['a sample without its metric', 'done_total 1\n'],
    ['a sample of another metric', `${COUNTER}other_total 1\n`],
    ['a type without its help', '# TYPE up gauge\nup 1\n'],
    ['a help without its type', '# HELP up Whether.\n'],
    ['a type that is none', '# HELP up Whether.\n# TYPE up number\nup 1\n'],
    ['a metric in two places', `${COUNTER}# HELP up Whether.\n# TYPE up gauge\nup 1\n${COUNTER}`],
    ['a value twice', `${COUNTER}done_total{a="1",b="2"} 1\ndone_total{b="2",a="1"} 1\n`],
    ['a value that is none', `${COUNTER}done_total one\n`],
    ['a value that only JavaScript knows', `${COUNTER}done_total 0x10\n`],
    ['a count below 0', `${COUNTER}done_total -1\n`],
    ['labels without quotes', `${COUNTER}done_total{topic=jobs} 1\n`],
    ['labels without a comma', `${COUNTER}done_total{a="1"b="2"} 1\n`],
    ['a label twice', `${COUNTER}done_total{a="1",a="2"} 1\n`],
    ['an escape that there is not', `${COUNTER}done_total{a="\\t"} 1\n`],
    [
      'a histogram without all',
      `${HISTOGRAM}wait_seconds_bucket{le="1"} 1\nwait_seconds_sum 1\nwait_seconds_count 1\n`,
    ],
    [
      'buckets that do not add up',
      `${HISTOGRAM}wait_seconds_bucket{le="1"} 2\nwait_seconds_bucket{le="+Inf"} 1\nwait_seconds_sum 1\nwait_seconds_count 1\n`,
    ],
    [
      'buckets out of order',
      `${HISTOGRAM}wait_seconds_bucket{le="2"} 1\nwait_seconds_bucket{le="1"} 1\nwait_seconds_bucket{le="+Inf"} 1\n` +
        'wait_seconds_sum 1\nwait_seconds_count 1\n',
    ],
    ['a histogram without its sum', `${HISTOGRAM}wait_seconds_bucket{le="+Inf"} 1\nwait_seconds_count 1\n`],
    [
      'a count that is not that of all',
      `${HISTOGRAM}wait_seconds_bucket{le="+Inf"} 1\nwait_seconds_sum 1\nwait_seconds_count 2\n`,
    ],
  ])('has not %s', (_what, text) => {
    expect(() => new Scrape(text)).toThrow(FAULT);
  });
});
