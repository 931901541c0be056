import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { type PackedProgram, installProgram } from '../../support/cli/packed-program.js';
import { eventually } from '../../support/waiting.js';
import { button, dialog, useShop } from './open-shop.js';

// From an alert of docs/guides/operations.md to where all is well again, as somebody goes who has only that page.

/** Longest until the overview says of a message that it is late. */
const LATE = 20_000;

let program: PackedProgram;

beforeAll(async () => {
  program = await installProgram();
}, 60_000);

describe('with the dashboard alone', { timeout: 90_000 }, () => {
  const shop = useShop();
  let page: Page;

  /** What the overview says is wrong with a topic, and the link to what to do. */
  const problem = (words: string | RegExp) => page.getByRole('listitem').filter({ hasText: words });

  it('DelayQueueLate: the handler is slow', async () => {
    page = await shop.page('#/');
    await problem('image.resize is late: 4 messages are overdue.').getByRole('link').click({ timeout: LATE });
    await page.getByRole('heading', { name: 'image.resize' }).waitFor();
    await page.getByRole('navigation', { name: 'Messages' }).getByRole('link', { name: /^Due/ }).click();
    await page
      .getByRole('region', { name: 'Due' })
      .getByRole('link', { name: /^image-/ })
      .first()
      .click();
    await page.getByText('Others come before it').waitFor();
    await page.getByText(/as many calls of one handler run as may/).waitFor();
    await shop.mend();
    await page.goto(page.url().replace(/#.*/, '#/'));
    await expect.poll(() => problem('image.resize').count(), { timeout: LATE }).toBe(0);
  });

  it('DelayQueueNoProgress: the handlers of one process hang', async () => {
    const id = await shop.startHanging();
    page = await shop.page('#/topics/image.resize?state=due');
    await page.getByRole('region', { name: 'Due' }).getByRole('link', { name: id, exact: true }).click();
    await page.getByText(/as many calls of one handler run as may/).waitFor({ timeout: LATE });
    await page.getByRole('link', { name: 'Fleet' }).click();
    const hanging = page.getByRole('row').filter({ hasText: /\d partitions? wait/ });
    const name = await hanging.locator('.strong').getAttribute('title');
    await shop.end(Number(name?.split(':').at(-2)));
    page = await shop.page('#/topics/image.resize');
    await page.getByRole('link', { name: 'Due 0' }).waitFor();
  });

  it('DelayQueuePaused: somebody has forgotten to resume', async () => {
    page = await shop.page('#/');
    await problem('invoice.send is paused, and 7 messages should have run.').waitFor();
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByRole('row', { name: /kim@example.com pause done invoice.send/ }).waitFor();
    await page.goBack();
    await problem('invoice.send is paused').getByRole('link').click();
    await button(page, 'Resume').click();
    await dialog(page).getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('heading', { name: 'invoice.send Active' }).waitFor();
    await expect.poll(() => page.getByRole('link', { name: 'Due 0' }).count()).toBe(1);
  });

  it('DelayQueuePartitionUnowned: nobody handles the topic', async () => {
    page = await shop.page('#/');
    await problem('No process handles newsletter.send, nobody receives it, and 5 messages wait.')
      .getByRole('link')
      .click();
    await page.getByRole('heading', { name: 'Fleet' }).waitFor();
    expect(await page.getByText(/^newsletter.send/).count()).toBe(0);
    await shop.start('newsletters', { NEWSLETTER: 'true' });
    await page
      .getByText(/^newsletter.send: \d/)
      .first()
      .waitFor({ timeout: LATE });
    await page.goto(page.url().replace(/#.*/, '#/'));
    await expect.poll(() => problem('newsletter.send').count(), { timeout: LATE }).toBe(0);
  });

  it('DelayQueueDeadLetters: what failed is mended and comes again', async () => {
    page = await shop.page('#/');
    await problem('payment.charge has 14 dead letters.').getByRole('link').click();
    await page.getByText('Payment gateway did not answer').first().waitFor();
    await shop.mend();
    // The first one is for all of them, the others for a group each.
    await button(page, 'Requeue all').first().click();
    await button(page, 'Requeue 14 messages').click();
    await page.getByText('There are no dead letters.').waitFor();
    expect(await button(page, 'Requeue all').count()).toBe(0);
  });

  it('DelayQueuePublishFails, DelayQueueRedisUnreachable, DelayQueueClockOffset: what the doctor says', async () => {
    page = await shop.page('#/doctor');
    const findings = page.locator('.findings li');
    await findings.first().waitFor();
    for (const check of ['memory', 'eviction', 'clock']) {
      expect(await findings.getByText(check, { exact: true }).count(), check).toBe(1);
    }
    await page.getByRole('link', { name: 'Fleet' }).click();
    await page.getByRole('cell', { name: 'right', exact: true }).first().waitFor();
  });

  it('DelayQueueAbsent: all processes are gone, and the dashboard that they served', async () => {
    await shop.endAll();
    await shop.startDashboard(program);
    page = await shop.page('#/fleet');
    await page.getByText('No process handles messages.').waitFor();
    await shop.start('again');
    page = await shop.page('#/');
    await page.getByRole('link', { name: 'Fleet' }).click();
    await page.getByRole('cell', { name: /order.timeout/ }).waitFor({ timeout: LATE });
  });
});

describe('with the command line alone', () => {
  const shop = useShop();

  async function run(line: string): Promise<string> {
    const { REDIS_URL, QUEUE_PREFIX } = shop.connection;
    const env = { DELAY_QUEUE_REDIS: REDIS_URL, DELAY_QUEUE_PREFIX: QUEUE_PREFIX };
    const { stdout, stderr, code } = await program.run(line.split(' '), { env });
    expect([code, stderr], line).toEqual([0, expect.stringMatching(/^((There are more|Next): .*\n)?$/)]);
    return stdout;
  }

  it('DelayQueueLate: the handler is slow', async () => {
    expect(await run('stats image.resize')).toMatch(/^due +4, the oldest one /m);
    const [, id = ''] = /^(image-\d)/m.exec(await run('peek image.resize --state due --limit 1')) ?? [];
    // How busy its owner is comes with the next heartbeat.
    await eventually(async () =>
      expect(await run(`explain image.resize ${id}`)).toMatch(/as many calls of one handler run as may/),
    );
    expect(await run('fleet')).toContain('image.resize');
    await shop.mend();
    await eventually(async () => expect(await run('stats image.resize')).toMatch(/^due +0$/m));
  });

  it('DelayQueueNoProgress: the handlers of one process hang', async () => {
    const id = await shop.startHanging();
    await eventually(async () =>
      expect(await run(`explain image.resize ${id}`)).toMatch(/as many calls of one handler run as may/),
    );
    const [, pid] = /^\S+:(\d+):\S+ .* \d+ of \d+ +[1-9]/m.exec(await run('fleet image.resize')) ?? [];
    await shop.end(Number(pid));
    await eventually(async () => expect(await run('stats image.resize')).toMatch(/^due +0$/m));
  });

  it('DelayQueuePaused: somebody has forgotten to resume', async () => {
    expect(await run('stats')).toMatch(/^invoice\.send .* paused$/m);
    expect(await run('audit --limit 20')).toMatch(/ kim@example.com +pause +invoice\.send /);
    await run('resume invoice.send');
    await eventually(async () => expect(await run('stats invoice.send')).toMatch(/^due +0$/m));
  });

  it('DelayQueuePartitionUnowned: nobody handles the topic', async () => {
    expect(await run('stats')).toMatch(/^newsletter\.send .* handled by nobody$/m);
    expect(await run('explain newsletter.send issue-0')).toMatch(/^cause +not-due: .*\n(.*\n)*also +no-consumer: /);
    await shop.start('newsletters', { NEWSLETTER: 'true' });
    await eventually(
      async () => expect(await run('stats newsletter.send')).toMatch(/^partitions +4, all owned$/m),
      LATE,
    );
  });

  it('DelayQueueDeadLetters: what failed is mended and comes again', async () => {
    expect(await run('dead payment.charge --group')).toMatch(/Payment gateway did not answer/);
    expect(await run('get payment.charge charge-301')).toMatch(/Payment gateway did not answer for order 301/);
    await shop.mend();
    await run('requeue payment.charge --id charge-301');
    expect(await run('requeue payment.charge --reason failed --dry-run')).toMatch(
      /^1\d dead letters would be requeued/,
    );
    await run('requeue payment.charge --reason failed --rate 50');
    await eventually(async () => expect(await run('stats payment.charge')).toMatch(/^dead +0$/m));
  });

  it('DelayQueuePublishFails, DelayQueueRedisUnreachable, DelayQueueClockOffset: what the doctor says', async () => {
    const { REDIS_URL, QUEUE_PREFIX } = shop.connection;
    const env = { DELAY_QUEUE_REDIS: REDIS_URL, DELAY_QUEUE_PREFIX: QUEUE_PREFIX };
    const { stdout } = await program.run(['doctor'], { env });
    for (const check of ['memory', 'eviction', 'clock']) expect(stdout).toContain(check);
    expect(await run('fleet')).toMatch(/CLOCK/);
  });

  it('DelayQueueAbsent: all processes are gone', async () => {
    await shop.endAll();
    expect(await run('fleet')).toMatch(/^No process handles messages\.$/m);
    await shop.start('again');
    await eventually(async () => expect(await run('fleet')).toContain('order.timeout: '));
  });
});
