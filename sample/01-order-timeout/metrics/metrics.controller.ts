import { Controller, Get, Header } from '@nestjs/common';
import { register } from 'prom-client';

/** What Prometheus scrapes: the metrics of the queue, and all else that this process registers. */
@Controller('metrics')
export class MetricsController {
  @Get()
  @Header('content-type', register.contentType)
  scrape(): Promise<string> {
    return register.metrics();
  }
}
