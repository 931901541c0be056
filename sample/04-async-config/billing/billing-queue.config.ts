import { Injectable } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import type { DelayQueueModuleOptions, DelayQueueOptionsFactory } from 'nestjs-delay-queue';
import type { Environment } from '../config/environment.js';

@Injectable()
export class BillingQueueConfig implements DelayQueueOptionsFactory {
  constructor(private readonly config: ConfigService<Environment, true>) {}

  createDelayQueueOptions(): DelayQueueModuleOptions {
    const ownRedis = this.config.get('BILLING_REDIS_URL', { infer: true });
    return {
      redis: ownRedis ?? this.config.get('REDIS_URL', { infer: true }),
      prefix: this.config.get('BILLING_QUEUE_PREFIX', { infer: true }),
    };
  }
}
