import type { Page } from 'playwright-core';
import { afterEach, describe, expect, it } from 'vitest';
import { expectClean, useShop } from './open-shop.js';
import { HOSTILE } from './shop-messages.js';

const shop = useShop();
const opened: Page[] = [];

afterEach(async () => {
  for (const page of opened.splice(0)) await page.context().close();
});

async function open(address: string, options: Parameters<typeof shop.page>[1] = {}): Promise<Page> {
  const page = await shop.page(address, options);
  opened.push(page);
  return page;
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const dialog = (page: Page) => page.getByRole('dialog');

describe('somebody who operates the queues', () => {
  it('finds what is wrong, and goes where it is mended', async () => {
    const page = await open('#/');
    await page.getByText('No process handles newsletter.send, and 5 messages wait.').waitFor();
    await page.getByRole('link', { name: 'Look at them' }).click();
    await page.getByRole('heading', { name: 'Dead letters' }).waitFor();
    expect(new URL(page.url()).hash).toBe('#/topics/payment.charge/dead');
    expectClean(page);
  });

  it('finds a topic by a part of its name', async () => {
    const page = await open('#/');
    await page.getByLabel('Find a topic').fill('charge');
    await expect.poll(() => page.getByRole('table').getByRole('row').count()).toBe(2);
    await page.getByRole('table').getByRole('link', { name: 'payment.charge' }).click();
    await page.getByRole('heading', { name: 'payment.charge' }).waitFor();
    expectClean(page);
  });

  it('finds a message by its id and key, and sees what it is, as text', async () => {
    const page = await open('#/topics/order.timeout');
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
    expectClean(page);
  });

  it('finds messages by a tag, and pages through them', async () => {
    const page = await open('#/topics/order.timeout');
    await page.getByLabel('Search', { exact: true }).selectOption('tag');
    await page.getByRole('searchbox', { name: 'Tag' }).fill('us');
    await button(page, 'Search').click();
    const rows = page.getByRole('region', { name: 'Scheduled' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(51);
    await button(page, 'Load more').click();
    await expect.poll(() => rows.count()).toBe(101);
    expectClean(page);
  });

  it('finds messages by a key', async () => {
    const page = await open('#/topics/order.timeout');
    await page.getByLabel('Search', { exact: true }).selectOption('key');
    await page.getByRole('searchbox', { name: 'Key' }).fill('customer-3');
    await button(page, 'Search').click();
    const rows = page.getByRole('region', { name: 'Scheduled' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole('link', { name: 'order-42', exact: true }).click();
    await page.getByRole('heading', { name: 'Message order-42' }).waitFor();
    expectClean(page);
  });

  it('goes through the states of a topic', async () => {
    const page = await open('#/topics/order.timeout');
    const states = page.getByRole('navigation', { name: 'Messages' });
    await states.getByRole('link', { name: /^Finished/ }).click();
    await page.getByRole('region', { name: 'Finished' }).getByText('Acknowledged').first().waitFor();
    await page.getByRole('link', { name: 'order-7', exact: true }).click();
    await page.getByText('It has ended').waitFor();
    await page.locator('.story').getByText('Acknowledged').waitFor();
    expectClean(page);
  });

  it('zooms into the agenda, and reads it as a table', async () => {
    const page = await open('#/topics/order.timeout');
    await button(page, 'Month').click();
    const chart = page.locator('.chart .u-over').first();
    await page.getByText('0 later').waitFor();
    const box = await chart.boundingBox();
    if (!box) throw new Error('The chart is not shown.');
    await page.mouse.move(box.x + 2, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 3, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await button(page, 'Zoom out').waitFor();
    await expect.poll(() => page.getByText(/^[1-9]\d* later$/).count()).toBe(1);
    await button(page, 'Zoom out').click();
    await page.getByText('0 later').waitFor();
    await page.getByText('As a table').click();
    await page.getByRole('region', { name: 'Agenda' }).getByRole('columnheader', { name: 'Messages' }).waitFor();
    expectClean(page);
  });

  it('edits, reschedules, cancels a message', async () => {
    const page = await open('#/topics/order.timeout/messages/order-1100');
    await button(page, 'Edit payload').click();
    await dialog(page).getByLabel('Payload').fill('{ "order": ');
    await dialog(page).getByText('This is not JSON.').waitFor();
    expect(await button(page, 'Save').isDisabled()).toBe(true);
    await dialog(page).getByLabel('Payload').fill('{ "order": 7, "by": "ann" }');
    await button(page, 'Save').click();
    await page.locator('.code', { hasText: '"by": "ann"' }).waitFor();

    await button(page, 'Reschedule').click();
    await dialog(page).getByRole('textbox', { name: 'New due time' }).fill('3d');
    await dialog(page).getByRole('button', { name: 'Reschedule' }).click();
    await page
      .getByRole('timer')
      .getByText(/^2d 23h|^3d/)
      .waitFor();
    await button(page, 'Reschedule').click();
    await dialog(page).getByRole('button', { name: 'At' }).click();
    await dialog(page).getByRole('button', { name: 'Reschedule' }).click();
    await page.getByText('Done.').waitFor();

    await button(page, 'Cancel message').click();
    await dialog(page).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog(page).count()).toBe(0);
    await button(page, 'Cancel message').click();
    await dialog(page).getByRole('button', { name: 'Cancel message' }).click();
    await page.getByText('It has ended').waitFor();
    expectClean(page);
  });

  it('runs a message now', async () => {
    const page = await open('#/topics/order.timeout/messages/order-1101');
    await button(page, 'Run now').click();
    await page.locator('.story').getByText('Acknowledged').waitFor();
    expectClean(page);
  });

  it('sees what redact leaves of a payload, and cannot store that', async () => {
    const page = await open('#/topics/invoice.send/messages/invoice-0');
    await page.getByText('Parts of it are hidden.').waitFor();
    expect(await page.locator('body').textContent()).not.toContain('DE0212');
    await button(page, 'Edit payload').click();
    await dialog(page).getByText('it cannot be edited here').waitFor();
    expectClean(page);
  });

  it('resumes a topic, pauses it, and drains it only after typing its name', async () => {
    const page = await open('#/topics/invoice.send');
    await button(page, 'Resume').click();
    await dialog(page).getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('heading', { name: 'invoice.send Active' }).waitFor();
    await button(page, 'Pause').click();
    await dialog(page).getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('heading', { name: 'invoice.send Paused' }).waitFor();
    await button(page, 'Drain').click();
    await dialog(page).getByRole('button', { name: 'Count first' }).click();
    await dialog(page).getByText('1 message would be removed now.').waitFor();
    expect(await dialog(page).getByRole('button', { name: 'Drain' }).isDisabled()).toBe(true);
    await dialog(page).getByLabel('Type invoice.send to confirm').fill('invoice.send');
    await dialog(page).getByRole('button', { name: 'Drain' }).click();
    await page.getByRole('region', { name: 'Under way' }).getByText('done').waitFor();
    await button(page, 'Hide').click();
    expectClean(page);
  });

  it('tries one dead letter, then requeues its group, and removes the rest', async () => {
    const page = await open('#/topics/payment.charge/dead');
    const group = page.locator('section.card', { hasText: 'Payment gateway did not answer' });
    await group.getByText('13', { exact: true }).waitFor();
    await shop.mend();
    await group.getByRole('button', { name: 'Try one' }).click();
    await group.getByText('12', { exact: true }).waitFor();
    await group.getByRole('button', { name: 'Requeue all' }).click();
    await dialog(page).getByRole('button', { name: 'Count first' }).click();
    await dialog(page).getByText('12 dead letters would be requeued.').waitFor();
    await dialog(page).getByLabel('Messages a second').fill('0.5');
    await dialog(page).getByRole('button', { name: 'Requeue all' }).click();
    const operation = page.getByRole('region', { name: 'Under way' });
    await operation.getByText('running').waitFor();
    await operation.getByRole('button', { name: 'Stop' }).click();
    await operation.getByText('stopped').waitFor();
    await operation.getByRole('button', { name: 'Hide' }).click();

    await group.getByRole('button', { name: 'Requeue all' }).click();
    await dialog(page).getByRole('button', { name: 'Count first' }).click();
    await dialog(page).getByRole('button', { name: 'Requeue all' }).click();
    await operation.getByText('done').waitFor();
    await expect.poll(() => group.count()).toBe(0);

    await button(page, 'Remove all').first().click();
    await dialog(page).getByRole('button', { name: 'Count first' }).click();
    await dialog(page).getByText('1 dead letter would be removed for good.').waitFor();
    await dialog(page).getByRole('button', { name: 'Remove all' }).click();
    await page.getByText('There are no dead letters.').waitFor();
    expectClean(page);
  });

  it('pauses a schedule, resumes it, and runs it now', async () => {
    const page = await open('#/schedules');
    await page.getByRole('link', { name: 'report.daily', exact: true }).first().click();
    await page.getByRole('heading', { name: 'Next runs' }).waitFor();
    await button(page, 'Pause').click();
    await page.getByRole('heading', { name: 'report.daily Paused' }).waitFor();
    await button(page, 'Resume').click();
    await button(page, 'Pause').waitFor();
    await button(page, 'Run now').click();
    await page.getByText(/^Published as message /).waitFor();
    expectClean(page);
  });

  it('removes a schedule, once that is confirmed', async () => {
    const page = await open('#/schedules/digest.weekly');
    await button(page, 'Remove').click();
    await dialog(page).getByText('digest.weekly publishes nothing any more.').waitFor();
    await dialog(page).getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('heading', { name: 'Schedules' }).waitFor();
    await expect.poll(() => page.getByRole('link', { name: 'digest.weekly' }).count()).toBe(0);
    expectClean(page);
  });

  it('sees what became of the last run of a schedule', async () => {
    const page = await open('#/schedules/stock.count');
    await page.getByText('it has ended, and is not kept').waitFor({ timeout: 30_000 });
    expectClean(page);
  });

  it('finds in the audit log what was done by whom', async () => {
    const page = await open('#/audit');
    const log = page.getByRole('region', { name: 'Audit' });
    await log.getByRole('row', { name: /kim@example.com pause done invoice.send/ }).waitFor();
    await log.getByRole('row', { name: /ann@example.com drain done invoice.send/ }).waitFor();
    await log.getByRole('row', { name: /ann@example.com removeSchedule done digest.send/ }).waitFor();
    expectClean(page);
  });

  it('sees events as they come, filtered, and which process tells none', async () => {
    const page = await open('#/live');
    await page.getByText(/^These processes tell nothing/).waitFor();
    await page.getByLabel('Event').selectOption('acked');
    // One of the two processes owns the half of the partitions, and tells.
    const other = await open('#/');
    await other.evaluate(async () => {
      const headers = { 'content-type': 'application/json', 'x-delay-queue-dashboard': '1' };
      for (let i = 1110; i < 1140; i++) {
        const body = JSON.stringify({ topic: 'order.timeout', id: `order-${i}` });
        await fetch('api/run-now', { method: 'POST', headers, body });
      }
    });
    await page
      .getByRole('region', { name: 'Live' })
      .getByRole('row', { name: /acked order.timeout order-11/ })
      .first()
      .waitFor();
    await button(page, 'Hold').click();
    await button(page, 'Go on').waitFor();
    expectClean(page);
  });

  it('goes everywhere with the keyboard', async () => {
    const page = await open('#/');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content');
    await page.getByRole('link', { name: 'Fleet' }).press('Enter');
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content');
    expectClean(page);
  });

  it('chooses a language and a theme, which the browser remembers', async () => {
    const page = await open('#/');
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
    expectClean(page);
  });
});

describe('somebody who may only look', () => {
  it.each(['#/topics/order.timeout', '#/topics/order.timeout/messages/order-1102', '#/schedules/report.daily'])(
    'is offered nothing that changes something: %s',
    async (address) => {
      const page = await open(address, { right: 'read' });
      await page.getByText('Read only').waitFor();
      await page.locator('.figures').first().waitFor();
      for (const name of ['Pause', 'Drain', 'Purge', 'Run now', 'Cancel message', 'Edit payload']) {
        expect(await button(page, name).count()).toBe(0);
      }
      expectClean(page);
    },
  );
});

it('can be used on a phone to requeue', async () => {
  const page = await open('#/topics/email.welcome', { width: 390 });
  await page.getByRole('link', { name: /^In flight/ }).click();
  await page.getByRole('link', { name: 'welcome-0' }).click();
  await page.getByText('It is running').waitFor();
  expectClean(page);
});
