import { Module } from '@nestjs/common';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { queueConfig } from '../config/queue.config.js';
import { ReportBuilder } from './report.builder.js';

@Module({
  imports: [DelayQueueModule.forRoot({ ...queueConfig, consumer: { concurrency: 10, shutdownTimeout: '5s' } })],
  providers: [ReportBuilder],
})
export class WorkerModule {}
