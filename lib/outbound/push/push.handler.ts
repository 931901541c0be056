import { PushFailedError, RateLimitedError, UnrecoverableError } from '../../errors/handling.errors.js';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';
import { toJson } from '../../messages/payload-to-json.js';
import { describeDuration } from '../../time/duration.js';
import { retryAfterOf } from '../../time/retry-after.js';
import { type Answer, PushClient } from './push-client.js';
import { type PushTarget, nameOf } from './push-target.js';
import { webhookHeaders } from './webhook-headers.js';

/** Statuses that stay the same however often the request is sent: the endpoint is gone, or the body or the headers are too large for it. */
const FINAL = [410, 413, 431];

const TOO_MANY = 429;
const UNAVAILABLE = 503;

/** Shortest pause for a server, in milliseconds: one that asks for none would get request after request. */
const LEAST_PAUSE = 1000;

/** Longest pause that a server can ask for, in milliseconds: a mistaken one must not put a topic off for years. */
const LONGEST_PAUSE = 3_600_000;

/** Handles messages by pushing them to a URL: returns if the server has accepted them, and throws the errors that a handler would. */
export class PushHandler {
  readonly name: string;
  readonly concurrency: number;
  readonly #target: PushTarget;
  readonly #client: PushClient;

  constructor(target: PushTarget) {
    this.name = nameOf(target);
    this.concurrency = target.concurrency;
    this.#target = target;
    this.#client = new PushClient(target);
  }

  /**
   * @throws UnrecoverableError if the server answers 410, 413 or 431, or JSON would lose something of the payload
   * @throws RateLimitedError if the server asks for a pause
   * @throws PushFailedError for every other failure
   */
  async handle(message: DelayedMessage): Promise<void> {
    const body = bodyOf(message);
    // Receivers compare the timestamp with their clocks, so it is the time of this host, in tests too.
    const headers = webhookHeaders(this.#target, message, { body, now: Date.now() });
    const answer = await this.#client.post({ headers, body, signal: message.signal });
    const { status } = answer;
    if (status >= 200 && status < 300) return;
    if (FINAL.includes(status)) throw new UnrecoverableError(this.#describe(answer));
    const pause = wantedPause(answer);
    if (pause === undefined) throw new PushFailedError(this.#describe(answer), status);
    throw new RateLimitedError(pause, {}, `Put off by ${describeDuration(pause)}. ${this.#describe(answer)}`);
  }

  /** Closes its connections. */
  close(): void {
    this.#client.close();
  }

  #describe({ status, headers, text }: Answer): string {
    const answered = `The ${this.name} was answered with ${status}`;
    if (status >= 300 && status < 400) {
      return `${answered}${redirectOf(headers.location, this.#target.url)}. Redirects are not followed: push to the URL where it ends.`;
    }
    return text.trim() === '' ? `${answered}.` : `${answered}: ${text.trim()}`;
  }
}

/**
 * Returns the pause that the server asks for, within bounds; `undefined` if it asks for none. A 429 asks for one even without
 * `Retry-After`.
 */
function wantedPause({ status, headers: { 'retry-after': header } }: Answer): number | undefined {
  if (status !== TOO_MANY && status !== UNAVAILABLE) return undefined;
  const asked = retryAfterOf(header) ?? (status === TOO_MANY ? RateLimitedError.after(undefined).delay : undefined);
  return asked === undefined ? undefined : Math.min(Math.max(asked, LEAST_PAUSE), LONGEST_PAUSE);
}

/** Describes a redirect without path and query, which may be secret. */
function redirectOf(location: string | undefined, base: URL): string {
  if (location === undefined || !URL.canParse(location, base.href)) return '';
  return `, a redirect to ${new URL(location, base).origin}`;
}

/** Returns the payload as JSON. A serializer can have restored values that JSON cannot hold. */
function bodyOf({ topic, payload = null }: DelayedMessage): string {
  try {
    return toJson({ payload }, 'its payload');
  } catch (error) {
    throw new UnrecoverableError(`A message of topic '${topic}' cannot be pushed: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
