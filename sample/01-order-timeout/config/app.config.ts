import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Duration } from 'nestjs-delay-queue';

/** Settings from the environment. */
@Injectable()
export class AppConfig {
  /** 0 means any free port. */
  readonly port = Number(process.env['PORT'] ?? 0);
  readonly redis = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';

  /** Orders live in memory, so each run has its own keys. With orders in a database, use a fixed prefix. */
  readonly prefix = process.env['QUEUE_PREFIX'] ?? `order-timeout-${randomUUID()}`;

  /** How long an order waits for its payment; a real shop would use '30m'. */
  readonly paymentWindow: Duration = process.env['PAYMENT_WINDOW'] ?? '2s';

  /** How long after the payment the shop is reminded of an order; a real shop would use '2 days'. */
  readonly reminderDelay: Duration = '1s';
}
