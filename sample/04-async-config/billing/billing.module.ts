import { Module } from '@nestjs/common';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { BillingQueueConfig } from './billing-queue.config.js';
import { BILLING } from './billing.constants.js';
import { BillingService } from './billing.service.js';

@Module({
  imports: [DelayQueueModule.forRootAsync({ name: BILLING, isGlobal: false, useClass: BillingQueueConfig })],
  providers: [BillingService],
  exports: [BillingService],
})
export class BillingModule {}
