import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isIP } from 'node:net';
import { describe } from '../../checks/describe.js';
import { assertInteger, assertOptions, isPlainObject } from '../../checks/validate.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import { parseDuration } from '../../time/duration.js';
import { isPublic } from './public-addresses.js';
import type { PushOptions } from './push-options.interface.js';
import type { PushTarget } from './push-target.js';
import { isReserved } from './webhook-headers.js';
import { WebhookSigner } from './webhook-signer.js';

const OPTIONS = [
  'url',
  'secret',
  'headers',
  'timeout',
  'connectTimeout',
  'maxRetryAfter',
  'concurrency',
  'allowPrivate',
] as const satisfies readonly (keyof PushOptions)[];

const HOUR = 3_600_000;
const DEFAULT_CONCURRENCY = 20;
const MAX_CONCURRENCY = 1000;

/**
 * Checks where messages are pushed to. No error shows a URL, a secret or the value of a header.
 *
 * @param name such as `topics['order.paid'].push`
 * @throws InvalidArgumentError
 */
export function resolvePush(name: string, options: unknown): PushTarget {
  if (!isPlainObject(options)) {
    throw new InvalidArgumentError(`${name} must be an object with url and secret. Given: ${typeof options}.`);
  }
  assertOptions(name, options, OPTIONS);
  const { concurrency = DEFAULT_CONCURRENCY, allowPrivate = false } = options;
  if (typeof allowPrivate !== 'boolean') {
    throw new InvalidArgumentError(`${name}.allowPrivate must be true or false. Given: ${describe(allowPrivate)}.`);
  }
  assertInteger(`${name}.concurrency`, concurrency, { min: 1, max: MAX_CONCURRENCY });
  const timeout = parseDuration(`${name}.timeout`, options['timeout'] ?? '30s', { min: 1, max: HOUR });
  const connectTimeout = options['connectTimeout'] ?? Math.min(5000, timeout);
  return Object.freeze({
    url: resolveUrl(`${name}.url`, options['url'], allowPrivate),
    signer: new WebhookSigner(`${name}.secret`, options['secret']),
    headers: resolveHeaders(`${name}.headers`, options['headers'] ?? {}),
    timeout,
    connectTimeout: parseDuration(`${name}.connectTimeout`, connectTimeout, { min: 1, max: timeout }),
    maxRetryAfter: parseDuration(`${name}.maxRetryAfter`, options['maxRetryAfter'] ?? '1h', {
      min: 1000,
      max: 24 * HOUR,
    }),
    concurrency,
    allowPrivate,
  });
}

function resolveUrl(name: string, given: unknown, allowPrivate: boolean): URL {
  const text = given instanceof URL ? given.href : given;
  if (typeof text !== 'string' || !URL.canParse(text)) {
    throw new InvalidArgumentError(
      `${name} must be a URL, such as 'https://example.com/hooks'. What was given is not shown, since it may hold a secret.`,
    );
  }
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new InvalidArgumentError(`${name} must begin with https:// or http://. Given: ${url.protocol}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new InvalidArgumentError(
      `${name} must not have a user name or a password: requests are signed with 'secret', and 'headers' can have an authorization.`,
    );
  }
  url.hash = '';
  if (!allowPrivate) assertPublic(name, url.hostname);
  return url;
}

/** Names are looked up when they are connected to; an address needs no look-up, and would not be checked again. */
function assertPublic(name: string, hostname: string): void {
  const address = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  const isThisHost = /(^|\.)localhost\.?$/.test(hostname);
  if (!isThisHost && (isIP(address) === 0 || isPublic(address))) return;
  throw new InvalidArgumentError(
    `${name} leads to ${address}, which is not an address of the public internet. If that is what you want, set allowPrivate: true.`,
  );
}

function resolveHeaders(name: string, headers: unknown): Readonly<Record<string, string>> {
  if (!isPlainObject(headers)) {
    throw new InvalidArgumentError(`${name} must be an object of texts by name. Given: ${typeof headers}.`);
  }
  for (const [header, value] of Object.entries(headers)) {
    if (isReserved(header)) {
      throw new InvalidArgumentError(`${name} must not have '${header}', which is set for each request.`);
    }
    if (typeof value !== 'string' || !isValid(header, value)) {
      throw new InvalidArgumentError(
        `${name} has a header ${describe(header)} that HTTP does not allow: a name is one word, and a value a text on one line. ` +
          `The value is not shown, since it may be a secret.`,
      );
    }
  }
  return Object.freeze({ ...headers }) as Readonly<Record<string, string>>;
}

function isValid(header: string, value: string): boolean {
  try {
    validateHeaderName(header);
    validateHeaderValue(header, value);
    return true;
  } catch {
    return false;
  }
}
