import { ConflictException, Injectable } from '@nestjs/common';
import { DelayQueueProducer, type PublishedMessage } from 'nestjs-delay-queue';
import { AppConfig } from '../config/app.config.js';
import { OrdersService } from '../orders/orders.service.js';
import { type Reminder, receiptMail, shopReminder } from './reminder.topics.js';

/** A second request for the same order leaves the waiting message as it is. */
@Injectable()
export class RemindersService {
  constructor(
    private readonly orders: OrdersService,
    private readonly producer: DelayQueueProducer,
    private readonly config: AppConfig,
  ) {}

  mailReceipt(orderId: string): Promise<PublishedMessage> {
    const reminder = this.reminderOf(orderId);
    return this.producer.publish(receiptMail, reminder, { id: orderId, onDuplicate: 'ignore' });
  }

  remindShop(orderId: string): Promise<PublishedMessage> {
    const reminder = this.reminderOf(orderId);
    const delay = this.config.reminderDelay;
    return this.producer.publish(shopReminder, reminder, { id: orderId, delay, onDuplicate: 'ignore' });
  }

  private reminderOf(orderId: string): Reminder {
    const { item, status } = this.orders.get(orderId);
    if (status !== 'paid') throw new ConflictException(`Order ${orderId} is ${status}`);
    return { orderId, item };
  }
}
