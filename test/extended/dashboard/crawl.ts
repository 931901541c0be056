import type { Page } from 'playwright-core';

/** A page of the dashboard that was visited. */
export interface Visit {
  /** As `#/topics/orders?state=dead`. */
  readonly address: string;
  /** What the page says that it could not show. */
  readonly failures: readonly string[];
}

/** What a page has until all of its looks are answered. */
const LOADING = 'main .loading';

export async function isLoaded(page: Page): Promise<void> {
  await page.locator('main h1').first().waitFor();
  await page.waitForFunction((loading) => document.querySelector(loading) === null, LOADING);
}

/**
 * Follows the links from the page that is shown, and those of the pages where they lead, to each place once.
 *
 * @param kindOf equal for places of which one is enough
 */
export async function crawl(page: Page, kindOf: (address: string) => string = (address) => address): Promise<Visit[]> {
  const visits: Visit[] = [];
  const known = new Set<string>();
  const open = ['#/'];
  for (const address of open) {
    if (known.has(kindOf(address))) continue;
    known.add(kindOf(address));
    await page.evaluate((fragment) => {
      location.hash = fragment;
    }, address);
    // The page notes the change after this task.
    await page.evaluate(() => new Promise((done) => setTimeout(done)));
    await isLoaded(page);
    visits.push({ address, failures: await page.locator('.notice-bad').allTextContents() });
    const links = await page
      // Events are others each time.
      .locator(address === '#/live' ? 'header a' : 'a')
      .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
    open.push(...links.filter(isFollowed));
  }
  return visits;
}

/** Links that combine two choices are left out, since each choice alone is followed, and searches, which go on and on. */
function isFollowed(link: string): boolean {
  const choices = choicesOf(link);
  return link.startsWith('#/') && choices.length <= 1 && !choices.some((choice) => choice.startsWith('tag='));
}

/** The parameters of an address beside the key of a message. */
export function choicesOf(address: string): string[] {
  const [, query] = address.split('?');
  return [...new URLSearchParams(query)].filter(([name]) => name !== 'key').map((choice) => choice.join('='));
}
