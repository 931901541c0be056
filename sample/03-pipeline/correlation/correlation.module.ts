import { Global, type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { CorrelationHeaders } from './correlation-headers.js';
import { CorrelationContext } from './correlation.context.js';
import { CorrelationLogger } from './correlation.logger.js';
import { CorrelationMiddleware } from './correlation.middleware.js';

@Global()
@Module({
  providers: [CorrelationContext, CorrelationHeaders, CorrelationLogger],
  exports: [CorrelationContext, CorrelationHeaders],
})
export class CorrelationModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(CorrelationMiddleware).forRoutes('{*path}');
  }
}
