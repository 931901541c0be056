import type { IncomingMessage } from 'node:http';
import { isPlainObject } from '../checks/kinds.js';
import { assertSaysJson, readJson } from '../http/read-json.js';
import { Refusal } from '../http/refusal.js';

/** A page of another site cannot send this header unless the application's CORS settings let it. */
export const OWN_HEADER = 'x-delay-queue-dashboard';

/** Most bytes of a body that we read ourselves: a payload of 1 MiB, escaped. */
const MAX_BODY = 2 * 1024 * 1024;

const RULES = { max: MAX_BODY, tooLarge: 'PAYLOAD_TOO_LARGE', noJson: 'INVALID_ARGUMENT' } as const;

/** @throws Refusal if the browser says that a page of another site sent it */
export function assertOwnSite({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') throw foreign();
}

/**
 * Checks a request that is to change something.
 *
 * @throws Refusal if another site may have made a browser send it
 */
export function assertNotForged(request: IncomingMessage): void {
  assertOwnSite(request);
  const { headers } = request;
  if (headers[OWN_HEADER] === undefined || headers['sec-fetch-site'] === 'none') throw foreign();
  // Browsers of before 2023 send no Sec-Fetch-Site. A proxy may have changed Host, so the origin counts only without the former.
  if (headers['sec-fetch-site'] === undefined && headers.origin !== undefined) {
    if (!URL.canParse(headers.origin) || new URL(headers.origin).host !== headers.host) throw foreign();
  }
  assertSaysJson(request);
}

function foreign(): Refusal {
  return new Refusal(403, 'CROSS_SITE', 'This request did not come from the dashboard, so it was refused.');
}

/**
 * The body of a request that is to change something.
 *
 * @param given what a parser of the application has made of it, if one has read it: its bytes, or a value
 * @throws Refusal if it is no JSON object, or too large
 * @throws SerializationError if it would come back as something else
 */
export async function bodyOf(request: IncomingMessage, given: unknown): Promise<Record<string, unknown>> {
  const body = await readJson(request, RULES, given);
  if (!isPlainObject(body)) throw new Refusal(400, 'INVALID_ARGUMENT', 'The body must be a JSON object.');
  return body;
}
