import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isIP } from 'node:net';
import { describe } from '../../checks/describe.js';
import { isPlainObject } from '../../checks/kinds.js';
import { type Rules, applyRules, duration, integer, orElse, trueOrFalse } from '../../checks/rules.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import { isPublic } from './public-addresses.js';
import type { PushOptions } from './push-options.interface.js';
import type { PushTarget } from './push-target.js';
import { isReserved } from './webhook-headers.js';
import { WebhookSigner } from './webhook-signer.js';

/**
 * Checks the options for pushing. No error shows a path, a secret or the value of a header.
 *
 * @param name the option's, such as `topics['order.paid'].push`
 * @throws InvalidArgumentError
 */
export function resolvePush(name: string, options: PushOptions): PushTarget {
  if (!isPlainObject(options)) {
    throw new InvalidArgumentError(`${name} must be an object with url and secret. Given: ${typeof options}.`);
  }
  const { url, secret: signer, ...used } = applyRules(PUSH_RULES, name, options);
  if (!used.allowPrivate) assertPublic(`${name}.url`, url.hostname);
  return Object.freeze({ url, signer, ...used });
}

const PUSH_RULES = {
  url: resolveUrl,
  secret: (name, secret) => new WebhookSigner(name, secret),
  headers: orElse(resolveHeaders, {}),
  timeout: orElse(duration(1, 3_600_000), 30_000),
  concurrency: orElse(integer(1, 1000), 20),
  allowPrivate: orElse(trueOrFalse, false),
} satisfies Rules<PushOptions>;

function resolveUrl(name: string, given: unknown): URL {
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
  return url;
}

/** Host names are looked up and checked on connect; an address needs no lookup, and would not be checked again. */
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
