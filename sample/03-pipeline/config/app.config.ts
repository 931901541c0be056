import { Injectable } from '@nestjs/common';
import type { Duration } from 'nestjs-delay-queue';

/** Settings from the environment. */
@Injectable()
export class AppConfig {
  /** 0 means any free port. */
  readonly port = Number(process.env['PORT'] ?? 0);
  readonly redis = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
  readonly prefix = process.env['QUEUE_PREFIX'] ?? 'sample-pipeline';

  /** How long an invoice waits until it is mailed; a real service would use '10m'. */
  readonly mailDelay: Duration = process.env['MAIL_DELAY'] ?? '1s';

  /** Tenants whose invoices are mailed. */
  readonly tenants: ReadonlySet<string> = new Set((process.env['TENANTS'] ?? 'acme,globex').split(','));
}
