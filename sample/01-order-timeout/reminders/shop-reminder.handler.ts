import { Injectable } from '@nestjs/common';
import { DelayedHandler } from 'nestjs-delay-queue';
import { type Reminder, shopReminder } from './reminder.topics.js';

/** A handler that can never succeed. Its messages become dead letters, which keep the error and hold up nothing else. */
@Injectable()
export class ShopReminderHandler {
  @DelayedHandler(shopReminder, { attempts: 3, backoff: { type: 'exponential', delay: '100ms' } })
  remind({ item }: Reminder): void {
    throw new Error(`no pager number for the shop that sells ${item}`);
  }
}
