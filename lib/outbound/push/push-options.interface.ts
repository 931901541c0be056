import type { Duration } from '../../time/duration.js';

/**
 * Options for pushing the messages of a topic.
 *
 * @publicApi
 */
export interface PushOptions {
  /** URL with `https://` or `http://`, without a user name and password. @defaultValue it must be given */
  url: string | URL;
  /**
   * Secret that requests are signed with, by Standard Webhooks: `whsec_` and 24 to 64 random bytes in base64. Up to 5 of them while
   * receivers change from one to the next: each request is signed with all.
   *
   * @defaultValue it must be given
   * @see docs/guides/push.md#change-a-secret
   */
  secret: string | readonly string[];
  /** Headers sent with each request, such as `authorization`. @defaultValue none */
  headers?: Readonly<Record<string, string>>;
  /** Time limit for the answer, up to an hour. @defaultValue '30s' */
  timeout?: Duration;
  /** Most requests at once in this process, 1 to 1,000. @defaultValue 20 */
  concurrency?: number;
  /**
   * Whether the URL is allowed to lead to this host, to a private network, or to any other address that is not public. With `false`, an
   * attacker who can change the host's DNS entry cannot turn the requests against the network of this process.
   *
   * @defaultValue false
   * @see docs/guides/push.md#where-a-url-may-lead
   */
  allowPrivate?: boolean;
}
