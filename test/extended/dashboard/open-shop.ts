import axe, { type AxeResults } from 'axe-core';
import { randomUUID } from 'node:crypto';
import { Test, type TestingModule } from '@nestjs/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Browser, type Locator, type Page, chromium } from 'playwright-core';
import { DelayQueueAdmin, DelayQueueModule, DelayQueueProducer, DelayQueueSchedules } from 'nestjs-delay-queue';
import type { MessageDetails, PartitionStatus } from 'nestjs-delay-queue/admin';
import type { DashboardUser } from 'nestjs-delay-queue/dashboard';
import { afterAll, afterEach, beforeAll, expect, inject } from 'vitest';
import { SHOP } from '../../../scripts/setup/build.mjs';
import { chromiumPath } from '../../../scripts/setup/chromium.mjs';
import type { PackedProgram } from '../../support/cli/packed-program.js';
import { TestProcess } from '../../support/processes/test-process.js';
import { StoredKeys } from '../../support/samples/stored-keys.js';
import { until } from '../../support/waiting.js';
import { fillShop, tradeIn } from './shop-messages.js';

interface PageOptions {
  readonly user?: DashboardUser;
  readonly language?: string;
  readonly width?: number;
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

export const OPERATOR: DashboardUser = { right: 'operate', actor: 'ann@example.com' };

/** A shop with two processes on a real Redis, and a browser in which somebody looks at its dashboard. */
export class Shop {
  readonly prefix = `dashboard-${randomUUID()}`;
  readonly #redisUrl: string;
  readonly #processes: { readonly process: TestProcess; readonly url: string }[] = [];
  /** One for each that looks, in their language: to open a page takes long. */
  readonly #pages = new Map<string, Page>();
  readonly #offences: string[] = [];
  #browser: Promise<Browser> | undefined;

  constructor(redisUrl = inject('redisUrl')) {
    this.#redisUrl = redisUrl;
  }

  async open(): Promise<void> {
    await this.start('web', { FLEET_EVENTS: 'true' });
    await Promise.all([this.start('worker'), this.#fill()]);
  }

  /** Starts another process of the shop. */
  async start(name: string, settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const process = new TestProcess(name, SHOP, [], { ...this.connection, NO_COLOR: '1', ...settings });
    const url = (await process.printed('shop is ready at ')).split(' at ')[1] ?? '';
    this.#processes.push({ process, url });
  }

  /** Serves the dashboard from the command line, in place of a process of the shop. */
  async startDashboard({ path }: PackedProgram): Promise<void> {
    const { REDIS_URL, QUEUE_PREFIX } = this.connection;
    const env = { DELAY_QUEUE_REDIS: REDIS_URL, DELAY_QUEUE_PREFIX: QUEUE_PREFIX };
    const process = new TestProcess('dashboard', path, ['dashboard'], env);
    const url = (await process.printed('The dashboard is at ')).split(' at ')[1] ?? '';
    this.#processes.push({ process, url });
  }

  /** Ends the process of the shop that has this id, as whoever deploys does. */
  async end(pid: number): Promise<void> {
    const index = this.#processes.findIndex(({ process }) => process.pid === pid);
    const [ended] = this.#processes.splice(index, 1);
    ended?.process.signal('SIGTERM');
    await ended?.process.exit();
  }

  /** Ends all its processes, and so the dashboard that they serve. */
  async endAll(): Promise<void> {
    for (const page of this.#pages.values()) await page.context().close();
    this.#pages.clear();
    await Promise.all([...this.#processes].map(({ process }) => this.end(process.pid ?? 0)));
  }

  /**
   * Starts a process whose handler of images hangs. Resolves once only what is in the partitions of that process waits, with the id of the
   * last message of those.
   */
  async startHanging(): Promise<string> {
    await this.mend();
    await this.start('hanging');
    const pid = this.#processes.at(-1)?.process.pid;
    return this.#produce(async (app) => {
      const owners = async (isMeant: (partition: PartitionStatus) => boolean): Promise<Set<string | undefined>> => {
        const { partitions } = await app.get(DelayQueueAdmin).stats('image.resize');
        return new Set(partitions.filter(isMeant).map(({ owner }) => owner?.split(':')[1]));
      };
      await until('the hanging process to own partitions', async () => (await owners(() => true)).has(`${pid}`));
      const images = Array.from({ length: 20 }, (_, i) => ({
        payload: { image: i },
        options: { id: `image-late-${i}` },
      }));
      await app.get(DelayQueueProducer).publishMany('image.resize', images);
      await until('the others to have handled theirs', async () => (await owners(({ due }) => due > 0)).size === 1);
      const { messages } = await app.get(DelayQueueAdmin).peek('image.resize', 'due');
      return (messages.at(-1) as MessageDetails).id;
    });
  }

  /** Where its queues are, for its processes. */
  get connection(): { REDIS_URL: string; QUEUE_PREFIX: string } {
    return { REDIS_URL: this.#redisUrl, QUEUE_PREFIX: this.prefix };
  }

  /** Whatever failed before does not fail any more. */
  async mend(): Promise<void> {
    await Promise.all(this.#processes.map(({ url }) => fetch(new URL('/mend', url), { method: 'POST' })));
  }

  get #dashboard(): string {
    return this.#processes[0]?.url ?? '';
  }

  /** Shows an address, and goes there from what was shown before as a link does. */
  async page(address: string, { user = OPERATOR, language = 'en', width = 1280 }: PageOptions = {}): Promise<Page> {
    const visitor = JSON.stringify({ user, language });
    const page = this.#pages.get(visitor) ?? (await this.#openPage(user, language));
    this.#pages.set(visitor, page);
    await page.unrouteAll();
    await page.setViewportSize({ width, height: 800 });
    const url = `${this.#dashboard}${address}`;
    if (page.url().split('#')[0] === this.#dashboard && page.url() !== url) await page.evaluate(follow, address);
    else await page.goto(url);
    await page.locator('main h1, main h2').first().waitFor();
    return page;
  }

  /** What pages have done that they must not do, such as what their content security policy refuses, since this was last asked. */
  takeOffences(): string[] {
    return this.#offences.splice(0);
  }

  async #openPage(user: DashboardUser, language: string): Promise<Page> {
    this.#browser ??= openBrowser();
    const browser = await this.#browser;
    const context = await browser.newContext({
      extraHTTPHeaders: { 'x-user': JSON.stringify(user) },
      locale: language,
      timezoneId: 'Europe/Berlin',
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    page.setDefaultTimeout(SHOWN_WITHIN);
    noteOffences(page, new URL(this.#dashboard).origin, this.#offences);
    return page;
  }

  async close(): Promise<void> {
    await (await this.#browser)?.close();
    await Promise.all(this.#processes.map(({ process }) => process.kill()));
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

  async #produce<T>(work: (app: TestingModule) => Promise<T>): Promise<T> {
    const connection = { redis: this.#redisUrl, prefix: this.prefix };
    const producing = DelayQueueModule.forRoot({ ...connection, consumer: false, defaults: { partitions: 4 } });
    const app = await Test.createTestingModule({ imports: [producing] }).compile();
    await app.init();
    return work(app).finally(() => app.close());
  }
}

/** Notes what a page loads from elsewhere, prints as an error, and is refused. */
export function noteOffences(page: Page, origin: string, offences: string[]): void {
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') offences.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => offences.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(origin)) offences.push(`request to ${request.url()}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) offences.push(`${response.status()} of ${response.url()}`);
  });
}

/** In a page: goes to another of its addresses, and waits until that is shown. */
function follow(address: string): Promise<void> {
  return new Promise((done) => {
    addEventListener('hashchange', () => requestAnimationFrame(() => done()), { once: true });
    location.hash = address;
  });
}

/** Acts as a page itself does, without its buttons. */
export async function act(page: Page, route: string, bodies: readonly object[]): Promise<void> {
  await page.evaluate(
    async ([path, all]) => {
      const headers = { 'content-type': 'application/json', 'x-delay-queue-dashboard': '1' };
      for (const body of all) await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
    },
    [route, bodies] as const,
  );
}

export const button = (page: Page, name: string): Locator => page.getByRole('button', { name, exact: true });

export const dialog = (page: Page): Locator => page.getByRole('dialog');

export function expectClean(shop: Shop): void {
  expect(shop.takeOffences()).toEqual([]);
}

/** axe finds nothing serious. */
export async function expectAccessible(page: Page): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source);
  const { violations } = await page.evaluate<AxeResults>("axe.run(document, { resultTypes: ['violations'] })");
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
  afterEach(() => expectClean(shop));
  afterAll(() => shop.close());
  return shop;
}
