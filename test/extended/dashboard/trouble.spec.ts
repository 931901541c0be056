import { Test } from '@nestjs/testing';
import { DelayQueueModule, DelayQueueProducer } from 'nestjs-delay-queue';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { Told } from '../../../lib/dashboard/watched-look.js';
import { startRedis } from '../../support/servers/redis-server.js';
import { Shop, act, button, dialog, useShop } from './open-shop.js';

// What a page does while its server, or the way to it, is in trouble, and while what it shows changes under it.

const shop = useShop();

const STREAMS = '**/api/watch?*';

const lost = (page: Page) => page.getByText('The connection to the server is lost.');

/** Messages that there are not: to cancel them changes nothing, and is written down. */
function unknown(count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({ topic: 'order.timeout', id: `nobody-${i}` }));
}

describe('news of what is shown', () => {
  it('comes again after the server has refused it for a while, and the page says so meanwhile', async () => {
    const page = await shop.page('#/');
    await page.route(STREAMS, (route) => route.fulfill({ status: 503 }));
    await page.getByRole('link', { name: 'Fleet' }).click();
    await page.getByText('Loading').waitFor();
    expect(await lost(page).count()).toBe(0);
    await lost(page).waitFor();
    // Another answer is no news.
    await act(page, 'api/run-now', [{ topic: 'order.timeout', id: 'nothing' }]);
    expect(await lost(page).count()).toBe(1);
    await page.unroute(STREAMS);
    await page.getByRole('region', { name: 'Fleet' }).waitFor();
    expect(await lost(page).count()).toBe(0);
    expect(shop.takeOffences()).toContainEqual(expect.stringMatching(/^503 of /));
  });

  it('is not said to be away when the server only ends the stream, as it does every few minutes', async () => {
    const page = await shop.page('#/');
    let streams = 0;
    await page.route(STREAMS, async (route) => {
      if (++streams > 3) return route.continue();
      return route.fulfill({ contentType: 'text/event-stream', body: 'retry: 200\n\n' });
    });
    await page.evaluate(() => {
      const seen = new MutationObserver(() => {
        if (document.querySelector('.notice-warning')) document.body.dataset['alarmed'] = 'true';
      });
      seen.observe(document.body, { childList: true, subtree: true });
    });
    await page.getByRole('link', { name: 'Fleet' }).click();
    await page.getByRole('region', { name: 'Fleet' }).waitFor();
    expect(streams).toBe(4);
    expect(await page.evaluate(() => document.body.dataset['alarmed'])).toBeUndefined();
  });

  it('opens a page whose first questions were refused', async () => {
    const page = await shop.page('#/doctor');
    let refused = 0;
    await page.route('**/api/session', (route) => (++refused > 1 ? route.continue() : route.fulfill({ status: 503 })));
    await page.reload();
    await page.getByRole('alert').waitFor();
    await page.getByRole('heading', { name: 'Doctor' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    shop.takeOffences();
  });

  it.each(['#/topics/order.timeout', '#/live'])('takes one connection: %s', async (address) => {
    const page = await shop.page('#/');
    const streams = new Set<unknown>();
    let most = 0;
    page.on('request', (request) => {
      if (request.resourceType() === 'eventsource') streams.add(request);
      most = Math.max(most, streams.size);
    });
    page.on('requestfailed', (request) => streams.delete(request));
    page.on('requestfinished', (request) => streams.delete(request));
    await page.goto(page.url().replace(/#.*/, address));
    await page.locator('main .loading').first().waitFor({ state: 'detached' });
    await page.reload();
    await page.locator('main h1').waitFor();
    await expect.poll(() => page.locator('main .loading').count()).toBe(0);
    await expect.poll(() => streams.size).toBe(1);
    expect(most).toBe(1);
  });
});

it('what is shown says how old it is if that is long', async () => {
  const page = await shop.page('#/');
  const told = { look: 0, age: 40_000, answer: { findings: [] } } satisfies Told;
  const body = `retry: 100000\n\ndata: ${JSON.stringify(told)}\n\n`;
  // The page that is left may open one more stream.
  const doctor = '**/api/watch?look=api%2Fdoctor';
  await page.route(doctor, async (route) => route.fulfill({ contentType: 'text/event-stream', body }));
  await page.getByRole('link', { name: 'Doctor', exact: true }).click();
  await page.getByText(/^As of 4\ds ago\.$/).waitFor();
});

it('a login page in the place of an answer says that the session is over, of what is shown and of what is done', async () => {
  const page = await shop.page('#/topics/order.timeout');
  await page.route('**/api/**', (route) => route.fulfill({ contentType: 'text/html', body: '<h1>Log in</h1>' }));
  await button(page, 'Pause').click();
  await dialog(page).getByRole('button', { name: 'Pause' }).click();
  await dialog(page).getByText('Your session has ended').waitFor();
  await button(page, 'Close').click();
  await page.getByRole('link', { name: 'Fleet' }).click();
  await page.getByRole('alert').getByText('Your session has ended').waitFor();
  await button(page, 'Load the page again').waitFor();
  // Somebody has signed in, in another window.
  await page.unroute('**/api/**');
  await page.getByRole('region', { name: 'Fleet' }).waitFor();
  await expect.poll(() => page.getByRole('alert').count()).toBe(0);
  shop.takeOffences();
});

it('seven windows of a browser show their pages, though it opens six connections', async () => {
  const page = await shop.page('#/');
  const others = await Promise.all(Array.from({ length: 6 }, () => page.context().newPage()));
  try {
    for (const other of others) {
      await other.goto(page.url());
      await other.getByRole('region', { name: 'Topics' }).waitFor();
    }
  } finally {
    await Promise.all(others.map((other) => other.close()));
  }
});

describe('pages of rows', () => {
  it('stay while messages come and go, until their reader asks for what is new', async () => {
    const page = await shop.page('#/topics/order.timeout');
    const rows = page.getByRole('region', { name: 'Scheduled' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(21);
    const first = (await rows.nth(1).getByRole('link').first().textContent()) ?? '';
    await button(page, 'Load more').click();
    await expect.poll(() => rows.count()).toBe(41);
    await act(page, 'api/cancel', [{ topic: 'order.timeout', id: first }]);
    await button(page, 'Show what is new').waitFor();
    expect(await rows.count()).toBe(41);
    await button(page, 'Show what is new').click();
    await expect.poll(() => rows.count()).toBe(21);
    expect(await page.getByRole('link', { name: first, exact: true }).count()).toBe(0);
  });

  it('of the audit log have no gap between them', async () => {
    // All are there before the first look, which otherwise may see only some, and what is loaded then follows on those.
    await act(await shop.page('#/'), 'api/cancel', unknown(60));
    const page = await shop.page('#/audit');
    const rows = page.getByRole('region', { name: 'Audit' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(51);
    await button(page, 'Load more').click();
    await expect.poll(() => rows.count()).toBeGreaterThan(60);
    const before = await rows.allTextContents();
    await act(page, 'api/cancel', unknown(2));
    await button(page, 'Show what is new').waitFor();
    expect(await rows.count()).toBe(before.length);
    await button(page, 'Show what is new').click();
    await expect.poll(() => rows.count()).toBe(51);
  });
});

it('work that a process behind the same address does is not lost sight of, and its bar shows how far it has come', async () => {
  const page = await shop.page('#/topics/payment.charge/dead');
  await shop.mend();
  await page.route('**/api/operations', (route) => route.fulfill({ json: { operations: [] } }));
  await button(page, 'Requeue all').first().click();
  await dialog(page).getByLabel('Messages a second').fill('0.1');
  await dialog(page).getByRole('button', { name: 'Requeue 14 messages' }).click();
  const operation = page.getByRole('region', { name: 'Under way' });
  await operation.getByText('It was begun in another process').waitFor();
  expect(await operation.getByRole('button', { name: 'Stop' }).count()).toBe(0);
  await page.unroute('**/api/operations');
  await operation.getByText('1 of 14 so far').waitFor();
  const bar = operation.getByRole('progressbar');
  expect([await bar.getAttribute('value'), await bar.getAttribute('max')]).toEqual(['1', '14']);
  await operation.getByRole('button', { name: 'Stop' }).click();
  await operation.getByText('stopped').waitFor();
});

it('says why nothing can be shown while Redis is away, and comes back by itself', async () => {
  const server = await startRedis(['--appendonly', 'yes']);
  const alone = new Shop(server.url);
  try {
    await alone.start('web');
    const page = await alone.page('#/');
    await page.getByText('Nothing is wrong').waitFor();
    await server.kill();
    const alert = page.getByRole('alert');
    await alert.getByRole('heading', { name: 'Redis cannot be reached' }).waitFor();
    await alert.getByText(`127.0.0.1:${server.port}`).waitFor();
    // Who opens the page now reads it as well.
    await page.reload();
    await alert.getByText(/^Since /).waitFor();
    await alert.getByRole('link', { name: 'See what the doctor advises' }).click();
    await page.locator('.findings').getByText('connection', { exact: true }).waitFor();
    expect(await alert.count()).toBe(0);
    await page.goBack();
    await alert.waitFor();
    await server.start();
    await page.getByRole('region', { name: 'Topics' }).waitFor();
    await expect.poll(() => alert.count()).toBe(0);
  } finally {
    await server.start().catch(() => {});
    await alone.close();
    await server.stop();
  }
});

it('a dialog gives the focus back to what has opened it, however it is closed', async () => {
  const page = await shop.page('#/topics/order.timeout');
  const focused = () => page.evaluate(() => document.activeElement?.textContent);
  await button(page, 'Pause').click();
  await button(page, 'Close').click();
  await expect.poll(focused).toBe('Pause');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await expect.poll(focused).toBe('Pause');
  await button(page, 'Pause').click();
  await dialog(page).getByRole('button', { name: 'Pause' }).click();
  await expect.poll(focused).toBe('Resume');
});

it('a payload that cannot be decoded is said to be one, and cannot be edited', async () => {
  const { REDIS_URL: redis, QUEUE_PREFIX: prefix } = shop.connection;
  const serializer = { serialize: (value: unknown) => value, deserialize: (value: unknown) => value };
  const producing = DelayQueueModule.forRoot({ redis, prefix, serializer, consumer: false });
  const app = await Test.createTestingModule({ imports: [producing] }).compile();
  await app.init();
  await app.get(DelayQueueProducer).publish('order.timeout', { order: 1 }, { id: 'serialized', delay: '1h' });
  await app.close();
  const page = await shop.page('#/topics/order.timeout/messages/serialized');
  await page.getByText('This process cannot decode the payload').waitFor();
  await button(page, 'Reschedule').waitFor();
  expect(await button(page, 'Edit payload').count()).toBe(0);
});

it('each page has a title of its own', async () => {
  const page = await shop.page('#/');
  for (const [address, title] of [
    ['#/', 'Overview'],
    ['#/topics/order.timeout', 'order.timeout'],
    ['#/topics/payment.charge/dead', 'Dead letters · payment.charge'],
    ['#/schedules/report.daily', 'report.daily'],
    ['#/audit', 'Audit'],
    ['#/nothing', 'There is no such page'],
  ]) {
    await page.goto(page.url().replace(/#.*/, address ?? ''));
    await expect.poll(() => page.title()).toBe(`${title} · Delay queue`);
  }
});
