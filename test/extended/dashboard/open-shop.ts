import { AxeBuilder } from '@axe-core/playwright';
import { randomUUID } from 'node:crypto';
import { Test } from '@nestjs/testing';
import { type Browser, type Page, chromium } from 'playwright-core';
import { DelayQueueModule, DelayQueueProducer, createDelayQueueAdmin } from 'nestjs-delay-queue';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { buildShop } from '../../../scripts/setup/build.mjs';
import { chromiumPath } from '../../../scripts/setup/chromium.mjs';
import { TestProcess } from '../../support/processes/test-process.js';
import { StoredKeys } from '../../support/samples/stored-keys.js';
import { until } from '../../support/waiting.js';
import { fillShop } from './shop-messages.js';

export type Right = 'read' | 'operate';

interface PageOptions {
  readonly right?: Right;
  readonly width?: number;
  readonly theme?: 'light' | 'dark';
  readonly language?: string;
}

/** What a page must not do, whatever is done in it. */
const offences = new WeakMap<Page, string[]>();

/** A shop with two processes on a real Redis, and a browser in which somebody looks at its dashboard. */
export class Shop {
  readonly prefix = `dashboard-${randomUUID()}`;
  readonly #redisUrl = inject('redisUrl');
  readonly #processes: TestProcess[] = [];
  readonly #urls: string[] = [];
  #browser: Browser | undefined;

  async open(): Promise<void> {
    await this.start('web', { FLEET_EVENTS: 'true' });
    await this.start('worker');
    await this.#fill();
    this.#browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] });
  }

  /** Starts another process of the shop. */
  async start(name: string, settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const process = new TestProcess(name, await buildShop(), [], { ...this.connection, NO_COLOR: '1', ...settings });
    this.#processes.push(process);
    this.#urls.push((await process.printed('shop is ready at ')).split(' at ')[1] ?? '');
  }

  /** Where its queues are, for its processes. */
  get connection(): { REDIS_URL: string; QUEUE_PREFIX: string } {
    return { REDIS_URL: this.#redisUrl, QUEUE_PREFIX: this.prefix };
  }

  /** Whatever failed before does not fail any more. */
  async mend(): Promise<void> {
    await Promise.all(this.#urls.map((url) => fetch(new URL('/mend', url), { method: 'POST' })));
  }

  async page(address: string, options: PageOptions = {}): Promise<Page> {
    const { right = 'operate', width = 1280, theme = 'light', language = 'en' } = options;
    const context = await (this.#browser as Browser).newContext({
      extraHTTPHeaders: { authorization: `Bearer ann@example.com:${right}` },
      viewport: { width, height: 800 },
      colorScheme: theme,
      locale: language,
      timezoneId: 'Europe/Berlin',
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    watch(page, new URL(this.#urls[0] ?? '').origin);
    await page.goto(`${this.#urls[0]}${address}`);
    await page.locator('main h1').first().waitFor();
    return page;
  }

  async close(): Promise<void> {
    await this.#browser?.close();
    await Promise.all(this.#processes.map((process) => process.kill()));
    await new StoredKeys(this.#redisUrl, this.prefix).remove();
  }

  async #fill(): Promise<void> {
    const connection = { redis: this.#redisUrl, prefix: this.prefix };
    const admin = await createDelayQueueAdmin(connection);
    const producing = DelayQueueModule.forRoot({ ...connection, consumer: false, defaults: { partitions: 4 } });
    const app = await Test.createTestingModule({ imports: [producing] }).compile();
    await app.init();
    try {
      await fillShop(app.get(DelayQueueProducer), admin);
      await until(
        '14 charges to have failed',
        async () => (await admin.stats('payment.charge')).dead === 14 || undefined,
      );
      await until(
        'welcome mails to be under way',
        async () => (await admin.stats('email.welcome')).inFlight === 3 || undefined,
      );
    } finally {
      await admin.close();
      await app.close();
    }
  }
}

/** Sees what a page loads, prints and is refused. */
function watch(page: Page, origin: string): void {
  const seen: string[] = [];
  offences.set(page, seen);
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') seen.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => seen.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(origin)) seen.push(`request to ${request.url()}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) seen.push(`${response.status()} of ${response.url()}`);
  });
}

/** Nothing that a page must not do was done, such as what its content security policy refuses. */
export function expectClean(page: Page): void {
  expect(offences.get(page)).toEqual([]);
}

/** axe finds nothing serious. */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  expect(
    serious.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html, target }) => `${target.join(' ')} ${html}`).join('; ')}`,
    ),
  ).toEqual([]);
}

export function useShop(): Shop {
  const shop = new Shop();
  beforeAll(() => shop.open(), 90_000);
  afterAll(() => shop.close());
  return shop;
}
