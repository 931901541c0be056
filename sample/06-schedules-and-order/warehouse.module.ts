import { randomUUID } from 'node:crypto';
import { Module } from '@nestjs/common';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { StockCountHandler } from './counts/stock-count.handler.js';
import { NoticesService } from './notices/notices.service.js';
import { ParcelStepHandler } from './parcels/parcel-step.handler.js';
import { StoryService } from './story/story.service.js';

@Module({
  imports: [
    DelayQueueModule.forRoot({
      redis: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379',
      prefix: process.env['QUEUE_PREFIX'] ?? `warehouse-${randomUUID()}`,
      topics: { 'parcel.step': { ordered: true } },
    }),
  ],
  providers: [ParcelStepHandler, NoticesService, StockCountHandler, StoryService],
})
export class WarehouseModule {}
