import { randomUUID } from 'node:crypto';
import { Body, Controller, HttpCode, HttpStatus, Post, ValidationPipe } from '@nestjs/common';
import { DelayQueueProducer } from 'nestjs-delay-queue';
import { reportRequested } from '../contracts/report-requested.topic.js';
import { RequestReportDto } from './request-report.dto.js';

@Controller('reports')
export class ReportsController {
  constructor(private readonly producer: DelayQueueProducer) {}

  @Post()
  @HttpCode(HttpStatus.ACCEPTED)
  async request(@Body(new ValidationPipe({ transform: true })) body: RequestReportDto): Promise<{ id: string }> {
    const { title, startAt = new Date() } = body;
    const id = randomUUID();
    await this.producer.publish(reportRequested, { reportId: id, title }, { id, deliverAt: startAt });
    return { id };
  }
}
