import { Injectable } from '@nestjs/common';

/** Settings from the environment. */
@Injectable()
export class AppConfig {
  readonly redis = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
}
