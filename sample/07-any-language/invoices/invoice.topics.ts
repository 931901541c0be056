import { topic } from 'nestjs-delay-queue';
import { z } from 'zod';

export interface Invoice {
  readonly number: string;
  readonly customer: string;
  readonly lines: readonly { readonly text: string; readonly cents: number }[];
}

/** Published here, handled by a program in Python. */
export const invoiceRender = topic<Invoice>('invoice.render');

const renderedInvoice = z.object({
  number: z.string(),
  document: z.string(),
  /** Which worker has rendered it, and at which attempt. */
  worker: z.string(),
  attempt: z.int(),
});

export type RenderedInvoice = z.infer<typeof renderedInvoice>;

/** Published in Python, where TypeScript checks nothing: the schema does, before anything is stored. */
export const invoiceRendered = topic('invoice.rendered', { schema: renderedInvoice });
