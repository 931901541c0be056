import { Module } from '@nestjs/common';
import { OrdersModule } from '../orders/orders.module.js';
import { MailService } from './mail.service.js';
import { ReceiptMailHandler } from './receipt-mail.handler.js';
import { RemindersController } from './reminders.controller.js';
import { RemindersService } from './reminders.service.js';
import { ShopReminderHandler } from './shop-reminder.handler.js';

@Module({
  imports: [OrdersModule],
  controllers: [RemindersController],
  providers: [RemindersService, MailService, ReceiptMailHandler, ShopReminderHandler],
})
export class RemindersModule {}
