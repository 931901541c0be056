import { describe, expect, it } from 'vitest';
import { button, dialog, useShop } from './open-shop.js';

const shop = useShop();

describe('somebody who operates the queues', () => {
  it('edits, reschedules, cancels a message', async () => {
    const page = await shop.page('#/topics/order.timeout/messages/order-1100');
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
  });

  it('runs a message now', async () => {
    const page = await shop.page('#/topics/order.timeout/messages/order-1101');
    await button(page, 'Run now').click();
    await page.locator('.story').getByText('Acknowledged').waitFor();
  });

  it('sees what redact leaves of a payload, and cannot store that', async () => {
    await (await shop.page('#/schedules/digest.weekly')).getByText('Parts of it are hidden.').waitFor();
    const page = await shop.page('#/topics/invoice.send/messages/invoice-0');
    await page.getByText('Parts of it are hidden.').waitFor();
    expect(await page.locator('body').textContent()).not.toContain('DE0212');
    await button(page, 'Edit payload').click();
    await dialog(page).getByText('it cannot be edited here').waitFor();
  });

  it('resumes a topic, holds and pauses it, and drains it only after typing its name', async () => {
    const page = await shop.page('#/topics/invoice.send');
    const resume = async () => {
      await button(page, 'Resume').click();
      await dialog(page).getByRole('button', { name: 'Resume' }).click();
      await page.getByRole('heading', { name: 'invoice.send Active' }).waitFor();
    };
    await resume();
    await button(page, 'Hold').click();
    await dialog(page).getByRole('button', { name: '1h' }).click();
    await dialog(page).getByRole('button', { name: 'Hold' }).click();
    await page.getByRole('heading', { name: 'invoice.send Held' }).waitFor();
    await page
      .getByText(/^Nothing of it is handed out before .*, since somebody or a rate limit holds it\.$/)
      .waitFor();
    await resume();
    await button(page, 'Pause').click();
    await dialog(page).getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('heading', { name: 'invoice.send Paused' }).waitFor();
    await button(page, 'Drain').click();
    await dialog(page).getByText('1 message is meant. Nothing is changed yet.').waitFor();
    await dialog(page).getByRole('link', { name: 'invoice-0' }).waitFor();
    expect(await dialog(page).getByRole('button', { name: 'Drain' }).isDisabled()).toBe(true);
    await dialog(page).getByLabel('Type invoice.send to confirm').fill('invoice.send');
    await dialog(page).getByRole('button', { name: 'Drain 1 message' }).click();
    await page.getByRole('region', { name: 'Under way' }).getByText('done').waitFor();
    await button(page, 'Hide').click();
  });

  it('tries one dead letter, then requeues its group, and removes the rest', async () => {
    const page = await shop.page('#/topics/payment.charge/dead');
    const group = page.locator('section.card', { hasText: 'Payment gateway did not answer' });
    await group.getByText('13', { exact: true }).waitFor();
    await shop.mend();
    await group.getByRole('button', { name: 'Try one' }).click();
    await group.getByText('12', { exact: true }).waitFor();
    await group.getByRole('button', { name: 'Requeue all' }).click();
    await dialog(page).getByText('12 messages are meant.').waitFor();
    expect(await dialog(page).getByRole('listitem').count()).toBe(3);
    await dialog(page).getByLabel('Messages a second').fill('0.5');
    await dialog(page).getByRole('button', { name: 'Requeue 12 messages' }).click();
    const operation = page.getByRole('region', { name: 'Under way' });
    await operation.getByText('running').waitFor();
    await operation.getByRole('button', { name: 'Stop' }).click();
    await operation.getByText('stopped').waitFor();
    await operation.getByText(/^\d of 12 so far$/).waitFor();
    await operation.getByRole('button', { name: 'Hide' }).click();

    await group.getByRole('button', { name: 'Requeue all' }).click();
    await dialog(page)
      .getByRole('button', { name: /^Requeue 1\d messages$/ })
      .click();
    await operation.getByText('done').waitFor();
    await expect.poll(() => group.count()).toBe(0);
    await button(page, 'Hide').click();

    await button(page, 'Remove all').first().click();
    await dialog(page).getByRole('button', { name: 'Remove 1 message' }).click();
    await page.getByText('There are no dead letters.').waitFor();
    await button(page, 'Hide').click();
  });

  it('reschedules, runs and cancels all messages that a filter means', async () => {
    const page = await shop.page('#/topics/order.timeout?key=customer-9');
    const rows = page.getByRole('region', { name: 'Scheduled' }).getByRole('row');
    await expect.poll(() => rows.count()).toBe(6);
    await button(page, 'Reschedule all').click();
    await dialog(page).getByText('5 messages are meant.').waitFor();
    expect(await dialog(page).getByRole('listitem').count()).toBe(3);
    await dialog(page).getByLabel('Due in').fill('40d');
    await button(page, 'Reschedule 5 messages').click();
    const operation = page.getByRole('region', { name: 'Under way' });
    await operation.getByText('5 of 5 so far').waitFor();
    await button(page, 'Hide').click();
    await expect.poll(() => rows.nth(1).textContent()).toMatch(/in \d\d days|next month/);
    await button(page, 'Cancel all').click();
    await dialog(page).getByLabel('Messages a second').fill('1');
    await button(page, 'Cancel 5 messages').click();
    await operation.getByRole('button', { name: 'Stop' }).click();
    await operation.getByText('stopped').waitFor();
    await button(page, 'Hide').click();
    await button(page, 'Run all now').click();
    await dialog(page)
      .getByRole('button', { name: /^Run now [1-5] messages?$/ })
      .click();
    await operation.getByText('done').waitFor();
    // They are due now, and handled by and by.
    const read = page.getByText(/^Read \d+ messages, \d+ found. That is all.$/);
    const lookAgain = async () => page.reload().then(async () => read.textContent());
    await expect.poll(lookAgain, { timeout: 20_000 }).toContain(' 0 found.');
  });

  it('pauses a schedule, resumes it, and runs it now', async () => {
    const page = await shop.page('#/schedules');
    await page.getByRole('link', { name: 'report.daily', exact: true }).first().click();
    await page.getByRole('heading', { name: 'Next runs' }).waitFor();
    await button(page, 'Pause').click();
    await page.getByRole('heading', { name: 'report.daily Paused' }).waitFor();
    await button(page, 'Resume').click();
    await button(page, 'Pause').waitFor();
    await button(page, 'Run now').click();
    await page.getByText(/^Published as message /).waitFor();
  });

  it('removes a schedule, once that is confirmed', async () => {
    const page = await shop.page('#/schedules/digest.weekly');
    await button(page, 'Remove').click();
    await dialog(page).getByText('digest.weekly publishes nothing any more.').waitFor();
    await dialog(page).getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('heading', { name: 'Schedules' }).waitFor();
    await expect.poll(() => page.getByRole('link', { name: 'digest.weekly' }).count()).toBe(0);
  });

  it('sees what became of the last run of a schedule', async () => {
    const page = await shop.page('#/schedules/stock.count');
    await page.getByText('it has ended, and is not kept').waitFor({ timeout: 30_000 });
    await page.getByRole('link', { name: 'Schedules' }).first().click();
    await page.getByRole('row', { name: /stock\.count .* it has ended, and is not kept/ }).waitFor();
  });

  it('finds in the audit log what was done by whom', async () => {
    const page = await shop.page('#/audit');
    const log = page.getByRole('region', { name: 'Audit' });
    await log.getByRole('row', { name: /kim@example.com pause done invoice.send/ }).waitFor();
    await log.getByRole('row', { name: /ann@example.com drain done invoice.send/ }).waitFor();
    await log
      .getByRole('row', { name: /ann@example.com requeue done payment.charge/ })
      .first()
      .waitFor();
    await log.getByRole('row', { name: /ann@example.com removeSchedule done digest.send/ }).waitFor();
  });
});
