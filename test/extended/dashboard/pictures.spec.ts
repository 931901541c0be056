import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type PrivateRedis, startRedis } from '../../support/servers/redis-server.js';
import { isLoaded } from './crawl.js';
import { Shop, expectAccessible, expectClean } from './open-shop.js';

// With `-u` vitest also takes pictures: of all pages, to be looked at, and of some of them for the documentation.

const FOLDER = 'dist-sample/pictures';
const DOCUMENTED = 'docs/images';

/** For so long the shop has been in business when pictures are taken, so that there is something to see. In milliseconds. */
const BUSINESS = 4 * 60_000;

const PAGES: Readonly<Record<string, { address: string; isDocumented?: boolean }>> = {
  overview: { address: '#/', isDocumented: true },
  topic: { address: '#/topics/order.timeout?span=day', isDocumented: true },
  search: { address: '#/topics/order.timeout?field=customer&value=customer-3' },
  message: { address: '#/topics/order.timeout/messages/order-42?key=customer-3' },
  'dead-message': { address: '#/topics/payment.charge/messages/charge-307', isDocumented: true },
  'dead-letters': { address: '#/topics/payment.charge/dead', isDocumented: true },
  schedules: { address: '#/schedules' },
  schedule: { address: '#/schedules/report.daily' },
  fleet: { address: '#/fleet' },
  live: { address: '#/live' },
  audit: { address: '#/audit' },
  doctor: { address: '#/doctor' },
};

const LOOKS = [
  { width: 1280, theme: 'light' },
  { width: 390, theme: 'light' },
  { width: 390, theme: 'dark' },
  { width: 1280, theme: 'dark' },
] as const;

let server: PrivateRedis;
let shop: Shop;

const isUpdate = inject('pictures');

beforeAll(async () => {
  // A Redis without a disk is what the overview would begin with.
  server = await startRedis(['--appendonly', 'yes']);
  shop = new Shop(server.url);
  await shop.open();
  if (isUpdate) await shop.trade(BUSINESS);
  await mkdir(FOLDER, { recursive: true });
}, 2 * BUSINESS);

afterAll(async () => {
  await shop?.close();
  await server?.stop();
});

describe.each(['en', 'zh'] as const)('in %s', (language) => {
  it.each(Object.entries(PAGES))(
    'the page %s is accessible, clean and within the screen',
    async (name, { address, isDocumented = false }) => {
      const page = await shop.page(address, { language });
      await isLoaded(page);
      for (const [i, { width, theme }] of LOOKS.entries()) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme: theme });
        if (isUpdate) {
          // A chart is drawn anew once its width and its colours are known.
          await page.waitForTimeout(300);
          await page.screenshot({ path: join(FOLDER, `${name}-${language}-${theme}-${width}.png`), fullPage: true });
          if (isDocumented && language === 'en' && i === 0) {
            await page.screenshot({ path: join(DOCUMENTED, `dashboard-${name}.png`) });
          }
        }
        await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
        // Each width and each theme once: to look at all pages takes long.
        if (language === 'en' && i % 2 === 0) await expectAccessible(page);
      }
      expectClean(shop);
    },
  );
});
