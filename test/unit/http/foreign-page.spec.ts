import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { foreignPage } from '../../../lib/http/foreign-page.js';

/** What a browser, or a program, tells of where a request comes from. */
type Told = Readonly<Record<string, string>>;

it.each<[isForeign: boolean, told: Told, host?: string]>([
  [false, {}],
  [false, { 'sec-fetch-site': 'same-origin', origin: 'http://queues.example' }],
  [false, { 'sec-fetch-site': 'none' }],
  [true, { 'sec-fetch-site': 'cross-site' }],
  [true, { 'sec-fetch-site': 'same-site', origin: 'http://shop:8080' }],
  [false, { origin: 'http://shop:8080' }],
  [true, { origin: 'http://shop:8081' }],
  [true, { origin: 'http://shop' }],
  [true, { origin: 'http://evil.example' }],
  [true, { origin: 'null' }],
  [false, { origin: 'https://queues.example' }, 'queues.example:443'],
  [true, { origin: 'http://queues.example' }, 'queues.example:443'],
  [true, { origin: 'http://shop:8080' }, 'queues.example'],
  [true, { origin: 'http://shop:8080' }, '['],
])('a page of another site: %s, by %j and the host %s', (isForeign, told, host) => {
  const request = { headers: { host: 'shop:8080', ...told } } as unknown as IncomingMessage;
  expect(foreignPage(request, host) !== undefined).toBe(isForeign);
});
