import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { DelayedHandler, type DelayedMessage } from 'nestjs-delay-queue';
import { type ReportRequest, reportRequested } from '../contracts/report-requested.topic.js';

/** Milliseconds. */
const BUILD_TIME = 200;

@Injectable()
export class ReportBuilder {
  private readonly logger = new Logger(ReportBuilder.name);

  /** A worker that shuts down finishes the reports that it has begun, and leaves the others to the next worker. */
  @DelayedHandler(reportRequested)
  async build({ reportId, title }: ReportRequest, { signal }: DelayedMessage): Promise<void> {
    await sleep(BUILD_TIME, undefined, { signal });
    this.logger.log(`Report ${reportId} is built: ${title}`);
  }
}
