import { randomUUID } from 'node:crypto';
import { Module } from '@nestjs/common';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { DelayQueueGatewayModule } from 'nestjs-delay-queue/gateway';
import { byToken } from './access/by-token.js';
import { invoiceRender, invoiceRendered } from './invoices/invoice.topics.js';
import { InvoicesService } from './invoices/invoices.service.js';
import { Programs } from './programs/programs.js';
import { reminderSend } from './reminders/reminder.topic.js';
import { RemindersService } from './reminders/reminders.service.js';
import { StoryService } from './story/story.service.js';

@Module({
  imports: [
    DelayQueueModule.forRoot({
      redis: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379',
      prefix: process.env['QUEUE_PREFIX'] ?? `shop-${randomUUID()}`,
    }),
    DelayQueueGatewayModule.forRoot({
      path: 'queues',
      topics: [invoiceRender, invoiceRendered, reminderSend],
      access: byToken,
    }),
  ],
  providers: [InvoicesService, RemindersService, Programs, StoryService],
})
export class ShopModule {}
