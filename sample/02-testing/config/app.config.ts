import { Injectable } from '@nestjs/common';

/** What the environment decides. */
@Injectable()
export class AppConfig {
  readonly redis = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
}
