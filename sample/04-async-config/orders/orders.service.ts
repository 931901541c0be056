import { randomUUID } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { DelayQueueProducer, DelayedHandler } from 'nestjs-delay-queue';
import { BillingService } from '../billing/billing.service.js';
import { type OrderPlaced, orderPlaced } from './order-placed.topic.js';

@Injectable()
export class OrdersService {
  private readonly logger = new Logger(OrdersService.name);

  constructor(
    private readonly producer: DelayQueueProducer,
    private readonly billing: BillingService,
  ) {}

  /** @returns the order's id */
  async place(): Promise<string> {
    const orderId = randomUUID();
    await this.producer.publish(orderPlaced, { orderId }, { id: orderId, delay: '100ms' });
    return orderId;
  }

  @DelayedHandler(orderPlaced)
  async confirm({ orderId }: OrderPlaced): Promise<void> {
    await this.billing.invoiceLater(orderId);
    this.logger.log(`Order ${orderId} is confirmed`);
  }
}
