import { Injectable } from '@nestjs/common';
import { type DelayedMessage, RecurringHandler } from 'nestjs-delay-queue';

@Injectable()
export class StockCountHandler {
  readonly times: Date[] = [];

  /** In a fleet, each count is made by one process. */
  @RecurringHandler('stock.count', { every: '1s' })
  count(_payload: unknown, { dueAt }: DelayedMessage): void {
    this.times.push(dueAt);
  }
}
