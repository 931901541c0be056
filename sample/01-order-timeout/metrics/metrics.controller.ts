import { Controller, Get, Header } from '@nestjs/common';
import { register } from 'prom-client';

/** Prometheus scrapes this: the metrics of the queue, and everything else that this process registers. */
@Controller('metrics')
export class MetricsController {
  @Get()
  @Header('content-type', register.contentType)
  scrape(): Promise<string> {
    return register.metrics();
  }
}
