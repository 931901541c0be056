import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectAccessible, expectClean, useShop } from './open-shop.js';

/** Where pictures of all pages are left, to be looked at. */
const FOLDER = 'dist-sample/pictures';

/** Pages whose pictures the documentation has; they are made anew with `PICTURES=docs/images`. */
const DOCUMENTED: readonly string[] = ['overview', 'topic', 'dead-message', 'dead-letters'];

const PAGES = {
  overview: '#/',
  topic: '#/topics/order.timeout',
  message: '#/topics/order.timeout/messages/order-42?key=customer-3',
  'dead-message': '#/topics/payment.charge/messages/charge-307',
  'dead-letters': '#/topics/payment.charge/dead',
  schedules: '#/schedules',
  schedule: '#/schedules/report.daily',
  fleet: '#/fleet',
  live: '#/live',
  audit: '#/audit',
  doctor: '#/doctor',
} as const;

const shop = useShop();

describe.each(Object.entries(PAGES))('the page %s', (name, address) => {
  it.each(['light', 'dark'] as const)(
    'is accessible, clean and within the screen, wide and narrow: %s',
    async (theme) => {
      const page = await shop.page(address, { theme });
      await expect.poll(() => page.locator('main .loading').count()).toBe(0);
      await mkdir(FOLDER, { recursive: true });
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 800 });
        await page.waitForTimeout(150);
        await page.screenshot({ path: join(FOLDER, `${name}-${theme}-${width}.png`), fullPage: true });
        const images = process.env['PICTURES'];
        if (images !== undefined && theme === 'light' && width === 1280 && DOCUMENTED.includes(name)) {
          await page.screenshot({ path: join(images, `dashboard-${name}.png`) });
        }
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
        await expectAccessible(page);
      }
      expectClean(page);
      await page.context().close();
    },
  );
});
