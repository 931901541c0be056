import type { IncomingMessage } from 'node:http';
import { isPlainObject } from '../checks/kinds.js';
import { foreignPage } from '../http/foreign-page.js';
import { assertSaysJson, readJson } from '../http/read-json.js';
import { Refusal } from '../http/refusal.js';

/** Header that a page of another site cannot send unless the application's CORS settings let it. */
export const OWN_HEADER = 'x-delay-queue-dashboard';

/** Most bytes of a body that we read ourselves: a payload of 1 MiB, escaped. */
const MAX_BODY = 2 * 1024 * 1024;

const RULES = { max: MAX_BODY, tooLarge: 'PAYLOAD_TOO_LARGE', noJson: 'INVALID_ARGUMENT' } as const;

/**
 * @param host host that the browser asked, see {@link foreignPage}
 * @throws Refusal if a page of another site made a browser send it
 */
export function assertOwnSite(request: IncomingMessage, host: string | undefined): void {
  const foreign = foreignPage(request, host);
  if (foreign !== undefined) throw crossSite(foreign);
}

/**
 * Checks a request that is to change something.
 *
 * @throws Refusal if another site may have made a browser send it
 */
export function assertNotForged(request: IncomingMessage, host: string | undefined): void {
  assertOwnSite(request, host);
  const { headers } = request;
  if (headers[OWN_HEADER] === undefined || headers['sec-fetch-site'] === 'none') {
    throw crossSite('This request did not come from the dashboard, so it was refused.');
  }
  assertSaysJson(request);
}

function crossSite(message: string): Refusal {
  return new Refusal(403, 'CROSS_SITE', message);
}

/**
 * Reads the body of a request that is to change something.
 *
 * @param given result of a parser of the application, if one has read it: its bytes, or a value
 * @throws Refusal if it is not a JSON object, or too large
 * @throws SerializationError if it would come back as something else
 */
export async function bodyOf(request: IncomingMessage, given: unknown): Promise<Record<string, unknown>> {
  const body = await readJson(request, RULES, given);
  if (!isPlainObject(body)) throw new Refusal(400, 'INVALID_ARGUMENT', 'The body must be a JSON object.');
  return body;
}
