import type { WebhookSigner } from './webhook-signer.js';

/** Target of pushed messages, checked and with all defaults filled in. Times in milliseconds. */
export interface PushTarget {
  readonly url: URL;
  readonly signer: WebhookSigner;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeout: number;
  readonly concurrency: number;
  readonly allowPrivate: boolean;
}

/** Returns its name in logs and errors, without path and query, which may be secret. */
export function nameOf({ url }: Pick<PushTarget, 'url'>): string {
  return `push to ${url.origin}`;
}
