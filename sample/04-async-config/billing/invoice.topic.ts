import { topic } from 'nestjs-delay-queue';

export interface InvoiceDue {
  readonly orderId: string;
}

/** On the connection `billing`. Due when the invoice of an order is to be written. */
export const invoiceDue = topic<InvoiceDue>('invoice.due');
