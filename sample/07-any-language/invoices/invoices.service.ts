import { Injectable } from '@nestjs/common';
import { DelayedHandler, DelayQueueProducer } from 'nestjs-delay-queue';
import { type Invoice, type RenderedInvoice, invoiceRender, invoiceRendered } from './invoice.topics.js';

@Injectable()
export class InvoicesService {
  readonly rendered = new Map<string, RenderedInvoice>();

  constructor(private readonly producer: DelayQueueProducer) {}

  async order(invoice: Invoice): Promise<void> {
    await this.producer.publish(invoiceRender, invoice, { id: invoice.number });
  }

  /** An invoice that was rendered twice is stored twice, which does no harm. */
  @DelayedHandler(invoiceRendered)
  store(invoice: RenderedInvoice): void {
    this.rendered.set(invoice.number, invoice);
  }
}
