import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { packed, unpacked } from '../../../docs/demo/recording.js';
import { readAssets } from '../../../lib/dashboard/assets.js';
import { PAGE_POLICY } from '../../../lib/dashboard/page-policy.js';
import { runProgram } from '../../support/package/run-program.js';
import { choicesOf, crawl, isLoaded } from './crawl.js';
import { noteOffences, openBrowser } from './open-shop.js';
import { RECORDING, recordDemo } from './record-demo.js';

// With `-u` vitest also records what the demo shows, which takes minutes.

/** When the demo is opened: long after it was recorded. */
const NOW = Date.parse('2035-06-07T08:09:10.111Z');
const MONTH = 30 * 86_400_000;

let server: Server;
let browser: Browser;
let page: Page;
const offences: string[] = [];

beforeAll(async () => {
  if (inject('pictures')) await recordDemo();
  await runProgram(process.execPath, ['scripts/demo.mjs']);
  const url = await serveDemo();
  browser = await openBrowser();
  page = await browser.newPage({ reducedMotion: 'reduce', locale: 'en', timezoneId: 'UTC' });
  page.setDefaultTimeout(20_000);
  await page.clock.setFixedTime(NOW);
  noteOffences(page, url, offences);
  await page.goto(url);
}, 10 * 60_000);

afterEach(() => expect(offences.splice(0)).toEqual([]));

afterAll(async () => {
  await browser?.close();
  server?.close();
});

/** As a static host does: below a path, and without headers of its own. */
async function serveDemo(): Promise<string> {
  const files = readAssets(['dist-demo']);
  server = createServer(({ url = '' }, response) => {
    const file = files.get(url === '/demo/' ? 'index.html' : url.replace('/demo/', ''));
    response.writeHead(file ? 200 : 404, { 'content-type': file?.type ?? 'text/plain' }).end(file?.content);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/demo/`;
}

async function show(address: string): Promise<void> {
  await page.goto(page.url().replace(/#.*|$/, address));
  await isLoaded(page);
}

/** Without the names of topics, messages and schedules. */
function kindOf(address: string): string {
  const parts = address.split('?')[0]?.split('/') ?? [];
  return [...parts.map((part, i) => (i > 0 && i % 2 === 0 ? '*' : part)), ...choicesOf(address)].join('/');
}

describe('the demo', () => {
  it('has an answer to whatever its pages ask, and nothing is asked elsewhere', async () => {
    const visits = await crawl(page, kindOf);
    const kinds = visits.map(({ address }) => kindOf(address));

    expect(visits.filter(({ failures }) => failures.length > 0)).toEqual([]);
    expect(kinds).toEqual(
      expect.arrayContaining(['#/', '#/schedules', '#/fleet', '#/live', '#/audit', '#/doctor', '#/schedules/*']),
    );
    expect(kinds).toEqual(
      expect.arrayContaining(['#/topics/*', '#/topics/*/dead', '#/topics/*/messages/*', '#/topics/*/work=history']),
    );
    expect(await page.locator('meta[http-equiv]').getAttribute('content')).toBe(PAGE_POLICY);
  });

  it('moves the times of the recording to those of its visitor, in ids too', async () => {
    await show('#/topics/order.timeout');
    const due = await page
      .getByRole('region', { name: 'Scheduled' })
      .locator('time')
      .evaluateAll((all) => all.map((time) => Date.parse(time.getAttribute('datetime') ?? '')));
    expect(due).toHaveLength(20);
    expect(Math.min(...due)).toBeGreaterThan(NOW);
    expect(Math.max(...due)).toBeLessThan(NOW + MONTH);

    await show('#/topics/digest.send');
    await page.getByRole('link', { name: 'digest.weekly@2035' }).click();
    await page.getByText('Overdue since').waitFor();
  });

  it('says in the language of the page what was not recorded', async () => {
    await show('#/topics/order.timeout');
    await page.getByRole('button', { name: 'Load more' }).click();
    await page.getByText('This demo shows what was recorded').waitFor();
    await page.getByRole('searchbox', { name: 'Id' }).fill('unknown');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('navigation', { name: 'Back' }).waitFor();
    await page.getByText('This demo shows what was recorded').waitFor();
    await page.getByLabel('Language').selectOption('zh');
    await page.getByText('此演示只展示').waitFor();
    await page.getByLabel('语言').selectOption('en');
  });

  it('replays the events as if they came now, those that are wanted', async () => {
    const rows = page.getByRole('region', { name: 'Live' }).locator('tbody tr');
    await show('#/live');
    await expect.poll(() => rows.count()).toBeGreaterThan(3);
    expect(await rows.last().locator('td').first().textContent()).toBe(new Date(NOW).toISOString().slice(11, 23));

    await show('#/live?topic=order.timeout&kind=acked');
    await expect.poll(() => rows.count()).toBeGreaterThan(3);
    expect(new Set(await rows.locator('.badge').allTextContents())).toEqual(new Set(['acked']));
    expect(await rows.filter({ hasNotText: 'order.timeout' }).count()).toBe(0);
  });

  it('has the parts of an agenda, which are not recorded', () => {
    const [from, middle, to] = [0, 1000, 2000].map((time) => new Date(time).toISOString());
    const buckets = [
      { from, to: middle, count: 3 },
      { from: middle, to, count: 0 },
    ];
    const agenda = { from, to, later: 4, buckets, topics: [{ counts: [1, 0] }, { counts: [2, 0] }] };

    expect(packed(agenda)).toEqual({ ...agenda, buckets: 2 });
    expect(unpacked(packed(agenda))).toEqual(agenda);
  });

  it('is small, and tells nothing of where it was made', async () => {
    const recording = await readFile(RECORDING, 'utf8');

    expect(recording.length).toBeLessThan(200_000);
    expect(recording).not.toMatch(/\/home\/|\/root\/|\/tmp\/|\/Users\//);
  });
});
