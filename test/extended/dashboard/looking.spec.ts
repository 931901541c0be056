import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { act, button, useShop } from './open-shop.js';
import { HOSTILE } from './shop-messages.js';

const shop = useShop();

const isInView = async (found: Locator) =>
  found.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return top > 0 && bottom < innerHeight;
  });

describe('somebody who looks', () => {
  it('finds what is wrong, and goes where it is mended', async () => {
    const page = await shop.page('#/');
    await page.getByText('No process handles newsletter.send, nobody receives it, and 5 messages wait.').waitFor();
    await page.getByRole('link', { name: 'Look at them' }).click();
    await page.getByRole('heading', { name: 'Dead letters' }).waitFor();
    expect(new URL(page.url()).hash).toBe('#/topics/payment.charge/dead');
  });

  it('finds a topic by a part of its name', async () => {
    const page = await shop.page('#/');
    await page.getByLabel('Find a topic').fill('charge');
    const topics = page.getByRole('region', { name: 'Topics' });
    await expect.poll(() => topics.getByRole('row').count()).toBe(2);
    await topics.getByRole('link', { name: 'payment.charge' }).click();
    await page.getByRole('heading', { name: 'payment.charge' }).waitFor();
  });

  it('finds a message by its id and key, and sees what it is, as text', async () => {
    const page = await shop.page('#/topics/order.timeout');
    await page.getByRole('searchbox', { name: 'Id' }).fill('order-42');
    await page.getByRole('searchbox', { name: 'Key' }).fill('customer-3');
    await button(page, 'Search').click();
    await page.getByRole('heading', { name: 'Message order-42' }).waitFor();
    await page.getByText('Its time has not come').waitFor();
    await page.getByText(JSON.stringify(HOSTILE).slice(1, 20)).waitFor();
    expect(await page.title()).toBe('Message order-42 · Delay queue');
    expect(await page.getByRole('link', { name: 'Open its trace' }).getAttribute('href')).toBe(
      'https://traces.example.com/trace/4bf92f3577b34da6a3ce929d0e0e4736',
    );
    const before = await page.getByRole('timer').textContent();
    await expect.poll(() => page.getByRole('timer').textContent()).not.toBe(before);
  });

  it('finds messages by a tag, and pages through them', async () => {
    const page = await shop.page('#/topics/order.timeout');
    await page.getByLabel('Search by').selectOption('tag');
    await page.getByRole('searchbox', { name: 'Tag' }).fill('us');
    await button(page, 'Search').click();
    const rows = page.getByRole('region', { name: 'Scheduled' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(51);
    await button(page, 'Go on').click();
    await expect.poll(() => rows.count()).toBe(101);
    expect(new URL(page.url()).hash).toBe('#/topics/order.timeout?state=scheduled&tag=us');
  });

  it('has what is found in view, and comes back to the list and its place in it', async () => {
    const page = await shop.page('#/topics/order.timeout');
    await page.getByLabel('Search by').selectOption('tag');
    await page.getByRole('searchbox', { name: 'Tag' }).fill('us');
    await button(page, 'Search').click();
    await expect.poll(() => isInView(page.getByText(/^Read .* found/))).toBe(true);
    const rows = page.getByRole('region', { name: 'Scheduled' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(51);
    await button(page, 'Go on').click();
    await expect.poll(() => rows.count()).toBe(101);
    const message = rows.nth(80).getByRole('link').first();
    for (const goBack of [
      async () => page.goBack(),
      async () => page.getByRole('navigation', { name: 'Back' }).getByRole('link', { name: 'order.timeout' }).click(),
    ]) {
      await message.click();
      await page.getByRole('heading', { name: 'Why it is where it is' }).waitFor();
      await goBack();
      await expect.poll(() => rows.count()).toBe(101);
      await expect.poll(() => isInView(message)).toBe(true);
    }
  });

  it('finds messages by a key', async () => {
    const page = await shop.page('#/topics/order.timeout');
    await page.getByLabel('Search by').selectOption('key');
    await page.getByRole('searchbox', { name: 'Key' }).fill('customer-3');
    await button(page, 'Search').click();
    const rows = page.getByRole('region', { name: 'Scheduled' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole('link', { name: 'order-42', exact: true }).click();
    await page.getByRole('heading', { name: 'Message order-42' }).waitFor();
  });

  it('finds messages by what is in them, stops, and goes on', async () => {
    const page = await shop.page('#/topics/order.timeout');
    await page.getByLabel('Search by').selectOption('field');
    await page.getByRole('searchbox', { name: 'Path' }).fill('customer');
    await page.getByRole('searchbox', { name: 'Value' }).fill('customer-3');
    // Each step waits, as one of millions of messages would.
    let steps = 0;
    await page.route('**/api/search?*', async (route) => {
      steps++;
      const response = await route.fetch();
      const answer = (await response.json()) as { messages: unknown[]; read: number; cursor?: string };
      if (steps === 1) return route.fulfill({ json: { messages: [], read: 5000, cursor: '' } });
      return steps === 2 ? undefined : route.fulfill({ json: answer });
    });
    await button(page, 'Search').click();
    await page.getByText('Read 5,000 messages, 0 found.').waitFor();
    await button(page, 'Stop').click();
    await page.getByText('Nothing was found so far.').waitFor();
    await button(page, 'Go on').click();
    await page.getByText(/^Read 5,\d+ messages, 14 found. That is all.$/).waitFor();
    await page.reload();
    const rows = page.getByRole('region', { name: 'Scheduled' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(15);
    await page.getByRole('link', { name: 'Show all messages' }).click();
    await expect.poll(() => rows.count()).toBe(21);
  });

  it('finds messages by a text', async () => {
    const page = await shop.page('#/topics/payment.charge?state=dead&text=did+not+answer+for+order+31');
    const rows = page.getByRole('region', { name: 'Dead' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(5);
  });

  it('goes through the states of a topic', async () => {
    const page = await shop.page('#/topics/order.timeout');
    const states = page.getByRole('navigation', { name: 'Messages' });
    await states.getByRole('link', { name: /^Finished/ }).click();
    await page.getByRole('region', { name: 'Finished' }).getByText('Acknowledged').first().waitFor();
    await page.getByRole('link', { name: 'order-7', exact: true }).click();
    await page.getByText('It has ended').waitFor();
    await page.locator('.story').getByText('Acknowledged').waitFor();
  });

  it('sees how a topic was handled over days, at an address of its own', async () => {
    const page = await shop.page('#/topics/payment.charge');
    await page.getByRole('link', { name: 'History' }).click();
    await page.reload();
    // The pointer is not over the chart, so its legend has the latest value.
    const chart = page.getByRole('img', { name: 'Messages', exact: true });
    const failed = chart.locator('.u-series', { hasText: 'failed' }).locator('.u-value');
    await expect.poll(() => failed.textContent()).toBe('28');
  });

  it('zooms into the agenda, and reads it as a table', async () => {
    const page = await shop.page('#/topics/order.timeout');
    await page.getByRole('link', { name: 'Month' }).click();
    const chart = page.locator('.chart .u-over').first();
    await page.getByText('0 later').waitFor();
    const zoomOut = page.getByRole('link', { name: 'Zoom out' });
    // What is above the chart may come later, and move it away from the pointer: then one draws again.
    await expect
      .poll(async () => {
        await chart.hover({ position: { x: 2, y: 50 } });
        await page.mouse.down();
        await chart.hover({ position: { x: 200, y: 60 } });
        await page.mouse.up();
        return zoomOut.isVisible();
      })
      .toBe(true);
    // Whoever is sent the address sees the same part.
    await page.reload();
    await zoomOut.waitFor();
    await expect.poll(() => page.getByText(/^[1-9]\d* later$/).count()).toBe(1);
    await zoomOut.click();
    await page.getByText('0 later').waitFor();
    await page.getByText('As a table').click();
    await page.getByRole('region', { name: 'Agenda' }).getByRole('columnheader', { name: 'Messages' }).waitFor();
  });

  it('sees events as they come, filtered, and which process tells none', async () => {
    const page = await shop.page('#/live');
    await page.getByText(/^These processes tell nothing/).waitFor();
    await page.getByLabel('Event').selectOption('acked');
    // One of the two processes owns the half of the partitions, and tells.
    const orders = Array.from({ length: 30 }, (_, i) => ({ topic: 'order.timeout', id: `order-${1110 + i}` }));
    await act(page, 'api/run-now', orders);
    await page
      .getByRole('region', { name: 'Live' })
      .getByRole('row', { name: /acked order.timeout order-11/ })
      .first()
      .waitFor();
    await button(page, 'Hold').click();
    await button(page, 'Go on').waitFor();
  });

  it('goes everywhere with the keyboard', async () => {
    const page = await shop.page('#/');
    await page.reload();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content');
    await page.getByRole('link', { name: 'Fleet' }).press('Enter');
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content');
  });

  it('chooses a language and a theme, which the browser remembers', async () => {
    const page = await shop.page('#/', { user: { right: 'read', actor: 'lee@example.com' } });
    await page.getByLabel('Language').selectOption('zh');
    await page.getByRole('heading', { name: '总览' }).waitFor();
    await page.getByLabel('外观').selectOption('dark');
    await page.reload();
    await page.getByRole('heading', { name: '总览' }).waitFor();
    expect(await page.evaluate(() => document.documentElement.dataset['theme'])).toBe('dark');
    for (const area of [
      'topics/order.timeout',
      'topics/order.timeout/messages/order-42?key=customer-3',
      'fleet',
      'live',
    ]) {
      await page.goto(page.url().replace(/#.*/, `#/${area}`));
      await page.locator('main h1').waitFor();
    }
  });
});

describe('somebody who may do a part', () => {
  it.each(['#/topics/order.timeout?tag=eu', '#/topics/order.timeout/messages/order-1102', '#/schedules/report.daily'])(
    'is offered nothing that changes something, if they may only look: %s',
    async (address) => {
      const page = await shop.page(address, { user: { right: 'read' } });
      await page.getByText('Read only').waitFor();
      await page.locator('.figures').first().waitFor();
      await expect.poll(() => page.locator('main .loading').count()).toBe(0);
      const names = await page.locator('main').getByRole('button').allTextContents();
      expect(names.filter((name) => !['Search', 'Go on', 'Stop'].includes(name))).toEqual([]);
    },
  );

  it('is offered what they may do, and no payload is shown or looked for', async () => {
    const page = await shop.page('#/topics/payment.charge/messages/charge-302', { user: { actions: ['requeue'] } });
    await page.getByText('You may not see what is in messages.').waitFor();
    await button(page, 'Requeue').waitFor();
    expect(await button(page, 'Remove').count()).toBe(0);
    await page.getByRole('link', { name: 'payment.charge' }).click();
    const ways = page.getByLabel('Search by').getByRole('option');
    await expect.poll(() => ways.allTextContents()).toEqual(['Id', 'Key', 'Tag']);
  });

  it('sees their own topics, and no doctor', async () => {
    const page = await shop.page('#/', { user: { right: 'read', topics: ['order.*'] } });
    const topics = page.getByRole('region', { name: 'Topics' }).getByRole('link');
    await expect.poll(() => topics.allTextContents()).toEqual(['order.timeout']);
    expect(await page.getByRole('link', { name: 'Doctor' }).count()).toBe(0);
  });
});

it('can be used on a phone to look and to requeue', async () => {
  const page = await shop.page('#/', { width: 390 });
  await page.getByRole('link', { name: 'Look at them' }).click();
  await page.getByText('Payment gateway did not answer').waitFor();
  await page
    .getByRole('link', { name: /^charge-/ })
    .first()
    .click();
  await button(page, 'Requeue').click();
  await page.getByText('Done.').waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
});
