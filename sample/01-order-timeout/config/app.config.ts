import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Duration } from 'nestjs-delay-queue';

/** What the environment decides. */
@Injectable()
export class AppConfig {
  /** 0: any free port. */
  readonly port = Number(process.env['PORT'] ?? 0);
  readonly redis = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';

  /** The orders end with their process, so each run has keys of its own. With orders in a database, use a fixed prefix. */
  readonly prefix = process.env['QUEUE_PREFIX'] ?? `order-timeout-${randomUUID()}`;

  /** How long an order waits for its payment; a real shop would say '30m'. */
  readonly paymentWindow: Duration = process.env['PAYMENT_WINDOW'] ?? '2s';

  /** How long the shop has before it is reminded of a paid order; a real shop would say '2 days'. */
  readonly reminderDelay: Duration = '1s';
}
