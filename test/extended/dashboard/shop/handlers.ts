import { Injectable } from '@nestjs/common';
import { type DelayedMessage, DelayedHandler, RecurringHandler } from 'nestjs-delay-queue';
import { setTimeout as sleep } from 'node:timers/promises';

/** What fails, until somebody mends it. */
export class Gateway {
  isMended = false;

  charge(order: string): void {
    if (this.isMended) return;
    if (order.endsWith('7'))
      throw Object.assign(new TypeError(`Card of order ${order} was declined`), { code: 'DECLINED' });
    throw new Error(`Payment gateway did not answer for order ${order}`);
  }
}

@Injectable()
export class Handlers {
  constructor(readonly gateway: Gateway) {}

  @DelayedHandler('order.timeout')
  timeout(): void {}

  @DelayedHandler('payment.charge')
  charge({ order }: { order: string }): void {
    this.gateway.charge(order);
  }

  @DelayedHandler('email.welcome')
  async welcome(_payload: unknown, { signal }: DelayedMessage): Promise<void> {
    await sleep(600_000, undefined, { signal });
  }

  @DelayedHandler('image.resize', { concurrency: 1 })
  async resize(_payload: unknown, { signal }: DelayedMessage): Promise<void> {
    while (!this.gateway.isMended) await sleep(50, undefined, { signal });
  }

  @DelayedHandler('invoice.send')
  send(): void {}

  @RecurringHandler('report.daily', { cron: '0 6 * * *', timeZone: 'Europe/Berlin' })
  report(): void {}

  @RecurringHandler('stock.count', { every: '10s' })
  count(): void {}
}

/** What nobody has deployed yet. */
@Injectable()
export class NewsletterHandlers {
  @DelayedHandler('newsletter.send')
  send(): void {}
}
