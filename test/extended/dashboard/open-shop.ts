import { AxeBuilder } from '@axe-core/playwright';
import { randomUUID } from 'node:crypto';
import { Test, type TestingModule } from '@nestjs/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Browser, type Page, chromium } from 'playwright-core';
import { DelayQueueAdmin, DelayQueueModule, DelayQueueProducer, DelayQueueSchedules } from 'nestjs-delay-queue';
import type { DashboardUser } from 'nestjs-delay-queue/dashboard';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { buildShop } from '../../../scripts/setup/build.mjs';
import { chromiumPath } from '../../../scripts/setup/chromium.mjs';
import { onceARun } from '../../support/package/once-a-run.js';
import { TestProcess } from '../../support/processes/test-process.js';
import { StoredKeys } from '../../support/samples/stored-keys.js';
import { until } from '../../support/waiting.js';
import { fillShop, tradeIn } from './shop-messages.js';

interface PageOptions {
  readonly user?: DashboardUser;
  readonly width?: number;
  readonly theme?: 'light' | 'dark';
  readonly language?: string;
}

/** It starts soon, and asks nothing of the network. */
const CHROMIUM = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Longest until a page shows what it is asked for, in milliseconds. */
const SHOWN_WITHIN = 20_000;

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: CHROMIUM });
}

/** What a page must not do, whatever is done in it. */
const offences = new WeakMap<Page, string[]>();

export const OPERATOR: DashboardUser = { right: 'operate', actor: 'ann@example.com' };

/** A shop with two processes on a real Redis, and a browser in which somebody looks at its dashboard. */
export class Shop {
  readonly prefix = `dashboard-${randomUUID()}`;
  readonly #redisUrl: string;
  readonly #processes: TestProcess[] = [];
  readonly #urls: string[] = [];
  #browser: Browser | undefined;

  constructor(redisUrl = inject('redisUrl')) {
    this.#redisUrl = redisUrl;
  }

  async open(): Promise<void> {
    await this.start('web', { FLEET_EVENTS: 'true' });
    await this.start('worker');
    await this.#fill();
  }

  /** Starts another process of the shop. */
  async start(name: string, settings: Readonly<Record<string, string>> = {}): Promise<void> {
    let program = 'dist-sample/dashboard-shop/main.js';
    await onceARun('dashboard-shop', async () => void (program = await buildShop()));
    const process = new TestProcess(name, program, [], { ...this.connection, NO_COLOR: '1', ...settings });
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
    const { user = OPERATOR, width = 1280, theme = 'light', language = 'en' } = options;
    this.#browser ??= await openBrowser();
    const context = await this.#browser.newContext({
      extraHTTPHeaders: { 'x-user': JSON.stringify(user) },
      viewport: { width, height: 800 },
      colorScheme: theme,
      locale: language,
      timezoneId: 'Europe/Berlin',
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    page.setDefaultTimeout(SHOWN_WITHIN);
    noteOffences(page, new URL(this.#urls[0] ?? '').origin);
    await page.goto(`${this.#urls[0]}${address}`);
    await page.locator('main h1, main h2').first().waitFor();
    return page;
  }

  async close(): Promise<void> {
    await this.#browser?.close();
    await Promise.all(this.#processes.map((process) => process.kill()));
    await new StoredKeys(this.#redisUrl, this.prefix).remove();
  }

  /** Goes on in business for a while, so that there are rates to see. */
  async trade(milliseconds: number): Promise<void> {
    await this.#produce(async (app) => {
      const producer = app.get(DelayQueueProducer);
      for (const end = Date.now() + milliseconds; Date.now() < end;) {
        const busy = Math.round(12 + 8 * Math.sin(Date.now() / 60_000));
        await tradeIn(producer, busy);
        await sleep(1000);
      }
    });
  }

  async #fill(): Promise<void> {
    await this.#produce(async (app) => {
      const admin = app.get(DelayQueueAdmin);
      await fillShop(app.get(DelayQueueProducer), admin, app.get(DelayQueueSchedules));
      await until(
        '14 charges to have failed',
        async () => (await admin.stats('payment.charge')).dead === 14 || undefined,
      );
      await until(
        'welcome mails to be under way',
        async () => (await admin.stats('email.welcome')).inFlight === 3 || undefined,
      );
    });
  }

  async #produce(work: (app: TestingModule) => Promise<void>): Promise<void> {
    const connection = { redis: this.#redisUrl, prefix: this.prefix };
    const producing = DelayQueueModule.forRoot({ ...connection, consumer: false, defaults: { partitions: 4 } });
    const app = await Test.createTestingModule({ imports: [producing] }).compile();
    await app.init();
    await work(app).finally(() => app.close());
  }
}

/** Sees what a page loads, prints and is refused, for {@link expectClean}. */
export function noteOffences(page: Page, origin: string): void {
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
