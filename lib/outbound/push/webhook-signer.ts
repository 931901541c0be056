import { createHmac } from 'node:crypto';
import { InvalidArgumentError } from '../../errors/options.errors.js';

const PREFIX = 'whsec_';

/** Shortest and longest key, in bytes, by Standard Webhooks. */
const MIN_KEY = 24;
const MAX_KEY = 64;

/** Most secrets at once. */
const MAX_SECRETS = 5;

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Signs requests by Standard Webhooks, with one secret or several. Printing it shows none of them. */
export class WebhookSigner {
  readonly #keys: readonly Buffer[];

  /**
   * @param name the secrets' name in error messages, which never show them
   * @throws InvalidArgumentError
   */
  constructor(name: string, secret: unknown) {
    const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
    if (secrets.length === 0 || secrets.length > MAX_SECRETS) {
      throw new InvalidArgumentError(`${name} must be 1 to ${MAX_SECRETS} secrets. Given: ${secrets.length}.`);
    }
    this.#keys = secrets.map((one, i) => keyOf(Array.isArray(secret) ? `${name}[${i}]` : name, one));
  }

  /**
   * @param timestamp epoch seconds
   * @returns one signature for each secret, separated by spaces
   */
  sign(id: string, timestamp: number, body: string): string {
    const content = `${id}.${timestamp}.${body}`;
    return this.#keys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`).join(' ');
  }
}

function keyOf(name: string, secret: unknown): Buffer {
  if (typeof secret === 'string' && secret.startsWith(PREFIX)) {
    const text = secret.slice(PREFIX.length);
    const key = Buffer.from(text, 'base64');
    if (BASE64.test(text) && key.length >= MIN_KEY && key.length <= MAX_KEY) return key;
  }
  throw new InvalidArgumentError(
    `${name} must be '${PREFIX}' and ${MIN_KEY} to ${MAX_KEY} random bytes in base64, such as ` +
      `'${PREFIX}' + randomBytes(32).toString('base64'). What was given is not shown, since it may be a secret.`,
  );
}
