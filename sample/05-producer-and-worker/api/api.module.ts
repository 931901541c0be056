import { Module } from '@nestjs/common';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { queueConfig } from '../config/queue.config.js';
import { ReportsController } from './reports.controller.js';

@Module({
  imports: [DelayQueueModule.forRoot({ ...queueConfig, consumer: false })],
  controllers: [ReportsController],
})
export class ApiModule {}
