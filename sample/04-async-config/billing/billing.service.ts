import { Injectable, Logger } from '@nestjs/common';
import { DelayQueueProducer, DelayedHandler, InjectDelayQueueProducer } from 'nestjs-delay-queue';
import { BILLING } from './billing.constants.js';
import { type InvoiceDue, invoiceDue } from './invoice.topic.js';

@Injectable()
export class BillingService {
  private readonly logger = new Logger(BillingService.name);

  constructor(@InjectDelayQueueProducer(BILLING) private readonly producer: DelayQueueProducer) {}

  /** A second request for the same order leaves the waiting invoice as it is. */
  async invoiceLater(orderId: string): Promise<void> {
    await this.producer.publish(invoiceDue, { orderId }, { id: orderId, delay: '100ms', onDuplicate: 'ignore' });
  }

  @DelayedHandler(invoiceDue, { connection: BILLING })
  writeInvoice({ orderId }: InvoiceDue): void {
    this.logger.log(`The invoice of order ${orderId} is written`);
  }
}
