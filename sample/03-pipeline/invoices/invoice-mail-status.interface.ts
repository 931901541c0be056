import type { MessageDetails } from 'nestjs-delay-queue/admin';

/** The current state of an invoice that is to be mailed. */
export interface InvoiceMailStatus extends Pick<MessageDetails, 'state' | 'attempts'> {
  readonly reason: string | undefined;
  readonly error: string | undefined;
}
