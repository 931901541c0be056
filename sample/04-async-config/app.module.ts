import { Module } from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { BillingModule } from './billing/billing.module.js';
import { type Environment, validateEnvironment } from './config/environment.js';
import { OrdersModule } from './orders/orders.module.js';

@Module({
  imports: [
    ConfigModule.forRoot({ isGlobal: true, validate: validateEnvironment }),
    DelayQueueModule.forRootAsync({
      inject: [ConfigService],
      useFactory: (config: ConfigService<Environment, true>) => ({
        redis: config.get('REDIS_URL', { infer: true }),
        prefix: config.get('QUEUE_PREFIX', { infer: true }),
        consumer: { concurrency: config.get('QUEUE_CONCURRENCY', { infer: true }) },
      }),
    }),
    OrdersModule,
    BillingModule,
  ],
})
export class AppModule {}
