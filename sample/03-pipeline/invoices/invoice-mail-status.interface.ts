import type { MessageDetails } from 'nestjs-delay-queue';

/** What has become so far of an invoice that was to be mailed. */
export interface InvoiceMailStatus extends Pick<MessageDetails, 'state' | 'attempts'> {
  readonly reason: string | undefined;
  readonly error: string | undefined;
}
