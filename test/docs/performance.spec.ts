import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { figuresOf } from '../../bench/figures/index.js';
import { chartOf } from '../../bench/report/chart.js';
import { CHART, DOCUMENT, SIZING, fillDocument, fillRegions, proseOf, regionsOf } from '../../bench/report/document.js';
import { readLatest } from '../../bench/report/json.js';
import { FULL } from '../../bench/sizes.js';
import { readDocument } from '../support/docs/markdown.js';

const document = readDocument(DOCUMENT);
const latest = readLatest();
const figureNames = figuresOf(FULL).map(({ name }) => name);

describe('docs/internals/performance.md', () => {
  it('shows the latest run and nothing else', async () => {
    expect(await fillDocument(document, latest)).toBe(document);
  });

  it('shows what the page on sizing computes of it', async () => {
    const sizing = readDocument(SIZING);
    expect(regionsOf(sizing)).toEqual(['sizing']);
    expect(await fillRegions(sizing, latest)).toBe(sizing);
  });

  it('has a place for every figure', () => {
    expect(regionsOf(document).toSorted()).toEqual(['chart', 'machine', 'requirements', ...figureNames].toSorted());
  });

  it('has no number that the benchmark did not print', () => {
    const read = proseOf(document).replaceAll(/`[^`\n]+`|\]\([^)\n]+\)/g, '');
    expect(read).not.toMatch(/\d/);
  });

  it('shows the chart of a run in full size, or none; figures that are newer are not in it yet', () => {
    const chart = existsSync(CHART) ? readDocument(CHART) : undefined;
    expect(chart).toBe(latest && chartOf(latest));
    const measured = latest?.figures.map(({ name }) => name) ?? figureNames;
    expect(measured).toEqual(figureNames.filter((name) => measured.includes(name)));
    expect(latest?.quick ?? false).toBe(false);
  });
});
