import type { Duration } from '../../time/duration.js';

/**
 * Where the messages of a topic are pushed to.
 *
 * @publicApi
 */
export interface PushOptions {
  /** `https://` or `http://`, without a user name and password. @defaultValue it must be given */
  url: string | URL;
  /**
   * What requests are signed with, as Standard Webhooks has it: `whsec_` and 24 to 64 random bytes in base64. Several while receivers
   * change from one to the next, up to 5: each request is signed with all of them.
   *
   * @defaultValue it must be given
   * @see docs/guides/push.md#change-a-secret
   */
  secret: string | readonly string[];
  /** Sent with each request, such as `authorization`. @defaultValue none */
  headers?: Readonly<Record<string, string>>;
  /** Longest time until the answer is there, up to an hour. @defaultValue '30s' */
  timeout?: Duration;
  /** Requests at once in this process, 1 to 1,000. @defaultValue 20 */
  concurrency?: number;
  /**
   * Whether the URL may lead to this host, to a private network, or to any other address that is not public. With `false`, whoever can
   * change the name of the host in the DNS cannot turn the requests against the network that this process stands in.
   *
   * @defaultValue false
   * @see docs/guides/push.md#where-a-url-may-lead
   */
  allowPrivate?: boolean;
}
