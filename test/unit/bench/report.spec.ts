import { describe, expect, it } from 'vitest';
import { chartOf } from '../../../bench/report/chart.js';
import { fillDocument, proseOf } from '../../../bench/report/document.js';
import { verdictsOf } from '../../../bench/report/requirements.js';
import { sizingTable } from '../../../bench/report/sizing.js';
import { figureTable, toMarkdown, toText } from '../../../bench/report/tables.js';
import { figureReport, reportOf } from './sample-report.js';

const backlog = figureReport('backlog', {
  'nestjs-delay-queue, concurrency 50': [
    { rate: 50_000, redis: 5 },
    { rate: 52_000, redis: 5 },
    { rate: 51_000, redis: 5 },
  ],
  'nestjs-delay-queue, concurrency 500': [
    { rate: 90_000, redis: 5 },
    { rate: 133_000, redis: 5 },
    { rate: 126_000, redis: 5 },
  ],
  'BullMQ, concurrency 50': [
    { rate: 20_000, redis: 5 },
    { rate: 19_000, redis: 5 },
    { rate: 21_000, redis: 5 },
  ],
  'BullMQ, concurrency 500': [
    { rate: 18_000, redis: 5 },
    { rate: 99_000, redis: 5 },
    { rate: 17_000, redis: 5 },
  ],
  'bee-queue, concurrency 100': [null, { rate: 30_000, redis: 5 }, null],
});

describe('a table of the benchmark', () => {
  it('has the median of the best variant, the median of its ratios to the baseline per run, and its range', () => {
    expect(figureTable(backlog)).toEqual({
      head: [
        '',
        'handled (messages/s)',
        '÷ BullMQ',
        'CPU of Redis a message (µs)',
        'handled, least to most',
        'best at',
      ],
      rows: [
        ['nestjs-delay-queue', '126,000', '6.00', '5.0', '90,000 – 133,000', 'concurrency 500'],
        ['BullMQ', '20,000', '1.00', '5.0', '19,000 – 21,000', 'concurrency 50'],
        ['bee-queue', '30,000', '1.58', '5.0', '30,000 – 30,000; failed runs: 2', 'concurrency 100'],
      ],
    });
  });

  it('shows what did not finish, and divides nothing by it', () => {
    const memory = figureReport('memory', { 'nestjs-delay-queue': [{ bytes: 300 }], BullMQ: [null] });
    expect(figureTable(memory).rows).toEqual([
      ['nestjs-delay-queue', '300', '–'],
      ['BullMQ', 'did not finish', '–'],
    ]);
  });

  it('divides only runs that both finished', () => {
    const memory = figureReport('memory', {
      'nestjs-delay-queue': [{ bytes: 300 }, null, { bytes: 100 }],
      BullMQ: [null, { bytes: 800 }, { bytes: 400 }],
    });
    expect(figureTable(memory).rows[0]).toEqual(['nestjs-delay-queue', '200', '0.25', '100 – 300; failed runs: 1']);
  });

  it('takes the middle between two runs', () => {
    const memory = figureReport('memory', { BullMQ: [{ bytes: 100 }, { bytes: 200 }] });
    expect(figureTable(memory).rows).toEqual([['BullMQ', '150', '1.00', '100 – 200']]);
  });

  it('is laid out for the screen and for the document', () => {
    const table = { head: ['', 'rate'], rows: [['a|b', '1,000.5']] };
    expect(toText(table)).toBe('     rate\n───  ───────\na|b  1,000.5');
    expect(toMarkdown(table)).toBe('|  | rate |\n| --- | --: |\n| a\\|b | 1,000.5 |');
  });
});

describe('the requirements', () => {
  it('are met or not, depending on the measurement', () => {
    expect(verdictsOf(reportOf(backlog))[0]).toEqual({
      what: 'Messages handled per second, against BullMQ',
      must: '≥ 7.00 ×',
      goal: '≥ 10.00 ×',
      measured: '6.00 ×',
      meetsMust: false,
      meetsGoal: false,
    });
  });

  it.each([
    { p50: 1.5, p99: 2, early: 0, meetsMust: true, meetsGoal: true },
    { p50: 1.5, p99: 3, early: 0, meetsMust: true, meetsGoal: false },
    { p50: 1.6, p99: 1.6, early: 0, meetsMust: false, meetsGoal: false },
    { p50: 1, p99: 1, early: 1, meetsMust: false, meetsGoal: false },
  ])('with several bounds need all of them: $p50, $p99, $early', ({ meetsMust, meetsGoal, ...lateness }) => {
    const spread = figureReport('spread', { 'nestjs-delay-queue': [{ ...lateness, max: 9 }] });
    expect(verdictsOf(reportOf(spread))).toEqual([expect.objectContaining({ meetsMust, meetsGoal })]);
  });

  it('on what must never happen check every run', () => {
    const runs = [0, 1, 0].map((early) => ({ p50: 1, p99: 1, max: 1, early }));
    const spread = figureReport('spread', { 'nestjs-delay-queue': runs });
    expect(verdictsOf(reportOf(spread))[0]?.meetsMust).toBe(false);
  });

  it('are not met by what did not finish', () => {
    const block = figureReport('block', { 'nestjs-delay-queue': [null] });
    expect(verdictsOf(reportOf(block))).toEqual([
      expect.objectContaining({ measured: '?', meetsMust: false, meetsGoal: false }),
    ]);
  });

  it('are not measured against what did not finish', () => {
    const processes = figureReport('processes', { 'processes: 1': [null], 'processes: 2': [{ rate: 99 }] });
    expect(verdictsOf(reportOf(processes))).toEqual([expect.objectContaining({ measured: '?', meetsMust: false })]);
  });

  it('of growth compare the worst row with the first', () => {
    const growth = figureReport('growth', {
      'waiting: 10,000': [{ handled: 100, published: 100 }],
      'waiting: 1,000,000': [{ handled: 85, published: 84 }],
      'waiting: 5,000,000': [{ handled: 95, published: 110 }],
    });
    expect(verdictsOf(reportOf(growth)).map(({ measured, meetsMust }) => [measured, meetsMust])).toEqual([
      ['85 %', true],
      ['84 %', false],
    ]);
  });

  it('compare run by run, so that a machine that slows down slows both', () => {
    const processes = figureReport('processes', {
      'processes: 1': [{ rate: 100 }, { rate: 60 }, { rate: 120 }],
      'processes: 2': [{ rate: 102 }, { rate: 66 }, { rate: 90 }],
    });
    expect(verdictsOf(reportOf(processes))).toEqual([expect.objectContaining({ measured: '102 %', meetsMust: true })]);
  });

  it('of several processes use the slowest number of them', () => {
    const processes = figureReport('processes', {
      'processes: 1': [{ rate: 100 }],
      'processes: 2': [{ rate: 89 }],
      'processes: 4': [{ rate: 130 }],
    });
    expect(verdictsOf(reportOf(processes))).toEqual([expect.objectContaining({ measured: '89 %', meetsMust: false })]);
  });

  it('of idling take the most commands, and compare the CPU time with messages waiting and without', () => {
    const idle = figureReport('idle', {
      'nestjs-delay-queue, partitions: 8': [{ commands: 0.6, cpu: 0.5 }],
      'nestjs-delay-queue, partitions: 64': [{ commands: 1.1, cpu: 0.5 }],
      'nestjs-delay-queue, partitions: 8, waiting: 1,000,000': [{ commands: 0.6, cpu: 0.55 }],
      BullMQ: [{ commands: 9, cpu: 1 }],
    });
    expect(verdictsOf(reportOf(idle)).map(({ measured, meetsMust }) => [measured, meetsMust])).toEqual([
      ['1.10/s', false],
      ['110 %', true],
    ]);
  });

  it('of one concurrency compare that one, whatever is the best', () => {
    const both = figureReport('backlog', {
      'nestjs-delay-queue, concurrency 100': [{ rate: 50 }],
      'nestjs-delay-queue, concurrency 500': [{ rate: 100 }],
      'BullMQ, concurrency 100': [{ rate: 10 }],
      'BullMQ, concurrency 500': [{ rate: 20 }],
    });
    expect(verdictsOf(reportOf(both)).map(({ measured }) => measured)).toEqual(['5.00 ×', '5.00 ×', '?']);
    const faster = figureReport('backlog', {
      'nestjs-delay-queue, concurrency 100': [{ rate: 40 }],
      'BullMQ, concurrency 100': [{ rate: 10 }],
      'BullMQ, concurrency 500': [{ rate: 20 }],
    });
    expect(verdictsOf(reportOf(faster)).map(({ measured }) => measured)).toEqual(['2.00 ×', '4.00 ×', '?']);
  });

  it('of the bare scripts are a share of their rate', () => {
    const both = figureReport('backlog', {
      'nestjs-delay-queue, concurrency 50': [{ rate: 60 }],
      'BullMQ, concurrency 50': [{ rate: 10 }],
      'bare scripts': [{ rate: 100 }],
    });
    expect(verdictsOf(reportOf(both)).find(({ what }) => what.includes('bare scripts'))).toMatchObject({
      measured: '60 %',
      meetsMust: true,
    });
  });
});

describe('the document', () => {
  const document = '# A title\n\n<!-- bench:backlog -->\n\nold\n\n<!-- /bench -->\n\nSome prose.\n';

  it('is filled between its markers only, and the same when filled twice', async () => {
    const filled = await fillDocument(document, reportOf(backlog));
    expect(filled).toContain('| nestjs-delay-queue |');
    expect(filled).not.toContain('old');
    expect(proseOf(filled)).toBe(proseOf(document));
    expect(await fillDocument(filled, reportOf(backlog))).toBe(filled);
  });

  it('says so if nothing was measured', async () => {
    expect(await fillDocument(document, undefined)).toContain('Not measured yet');
  });

  it('must have a place for every figure', async () => {
    const memory = figureReport('memory', {});
    await expect(fillDocument(document, reportOf(backlog, memory))).rejects.toThrow("no place for the figure 'memory'");
  });

  it('says of a figure that is newer than the report that it was not measured', async () => {
    expect(await fillDocument(document, reportOf())).toContain('Not measured yet');
  });
});

describe('the chart', () => {
  it('has a bar for each contender, as long as its median', () => {
    const chart = chartOf(reportOf(backlog));
    const widths = Array.from(chart.matchAll(/<rect x="\d+" y="\d+" width="(\d+)"/g), ([, width]) => Number(width));
    expect(widths).toHaveLength(3);
    const [ours = 0, bullMq = 0, bee = 0] = widths;
    expect(ours / bullMq).toBeCloseTo(6.3, 0);
    expect(bee / bullMq).toBeCloseTo(1.5, 0);
    expect(chart).toContain('>126,000<');
  });
});

describe('the table of the page on sizing', () => {
  it('adds up what a message costs, and leaves out what was not measured', () => {
    const report = reportOf(
      figureReport('publish', { 'nestjs-delay-queue': [{ redis: 30 }] }),
      figureReport('calm', { 'nestjs-delay-queue': [{ redis: 110, process: 210 }] }),
      figureReport('busy', { 'bee-queue': [{ redis: 1, process: 1 }] }),
      figureReport('memory', { 'nestjs-delay-queue': [{ bytes: 200 }] }),
    );
    expect(sizingTable(report).rows).toEqual([
      [
        'hundreds of messages a second in each topic, published one by one',
        '140 µs a message',
        '5,000 messages/s',
        '210 µs a message',
        '3,300 messages/s',
      ],
      ['a million messages that wait', '', '191 MiB', '', ''],
    ]);
  });
});
