import { Module } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { DelayQueueDashboardModule } from 'nestjs-delay-queue/dashboard';
import { prometheusMetrics } from 'nestjs-delay-queue/prometheus';
import { BrokerUnavailableInterceptor } from './common/broker-unavailable.interceptor.js';
import { AppConfig } from './config/app.config.js';
import { ConfigModule } from './config/config.module.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { OrdersModule } from './orders/orders.module.js';
import { RemindersModule } from './reminders/reminders.module.js';

@Module({
  imports: [
    ConfigModule,
    DelayQueueModule.forRootAsync({
      inject: [AppConfig],
      useFactory: ({ redis, prefix }: AppConfig) => ({
        redis,
        prefix,
        metrics: prometheusMetrics(),
        fleetEvents: true,
        defaults: { finished: { maxAge: '1h' } },
      }),
    }),
    // The service listens on loopback alone, so whoever reaches it may operate. Ask who it is in an application of yours.
    DelayQueueDashboardModule.forRoot({ path: 'queues', access: () => ({ right: 'operate', actor: 'demo' }) }),
    OrdersModule,
    RemindersModule,
    MetricsModule,
  ],
  providers: [{ provide: APP_INTERCEPTOR, useClass: BrokerUnavailableInterceptor }],
})
export class AppModule {}
