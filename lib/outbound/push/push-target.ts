import type { WebhookSigner } from './webhook-signer.js';

/** Where messages are pushed to, checked and with all defaults filled in. Times in milliseconds. */
export interface PushTarget {
  readonly url: URL;
  readonly signer: WebhookSigner;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeout: number;
  readonly concurrency: number;
  readonly allowPrivate: boolean;
}

/** What is said of it in logs and errors: a path or a query may be a secret. */
export function nameOf({ url }: Pick<PushTarget, 'url'>): string {
  return `push to ${url.origin}`;
}
