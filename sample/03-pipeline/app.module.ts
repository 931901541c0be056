import { Module } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { DelayQueueModule } from 'nestjs-delay-queue';
import { LoggingInterceptor } from './common/logging.interceptor.js';
import { AppConfig } from './config/app.config.js';
import { ConfigModule } from './config/config.module.js';
import { CorrelationHeaders } from './correlation/correlation-headers.js';
import { CorrelationModule } from './correlation/correlation.module.js';
import { InvoicesModule } from './invoices/invoices.module.js';

@Module({
  imports: [
    ConfigModule,
    CorrelationModule,
    DelayQueueModule.forRootAsync({
      inject: [AppConfig, CorrelationHeaders],
      useFactory: ({ redis, prefix }: AppConfig, correlation: CorrelationHeaders) => ({
        redis,
        prefix,
        middleware: [correlation],
      }),
    }),
    InvoicesModule,
  ],
  providers: [{ provide: APP_INTERCEPTOR, useClass: LoggingInterceptor }],
})
export class AppModule {}
