import { type DynamicModule, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { DelayQueueAdmin } from './admin/delay-queue.admin.js';
import { DELAY_QUEUE_REDIS } from './delay-queue.constants.js';
import { DelayQueueEvents } from './delay-queue.events.js';
import { ConfigurableModuleClass } from './delay-queue.module-definition.js';
import { providers } from './delay-queue.providers.js';
import type { DelayQueueModuleOptions } from './interfaces/delay-queue-options.interface.js';
import { DelayQueueProducer } from './producer/delay-queue.producer.js';

/**
 * Delayed messages on Redis. Import it once, in the root module.
 *
 * @example
 * ```ts
 * @Module({ imports: [DelayQueueModule.forRoot({ redis: 'redis://localhost:6379' })], providers: [OrderService] })
 * export class AppModule {}
 * ```
 *
 * @publicApi
 */
@Module({
  imports: [DiscoveryModule],
  providers,
  exports: [DelayQueueProducer, DelayQueueAdmin, DelayQueueEvents, DELAY_QUEUE_REDIS],
})
export class DelayQueueModule extends ConfigurableModuleClass {
  /** `isGlobal` (default true) spares other modules the import. Wrong options fail the boot. */
  static override forRoot(options: DelayQueueModuleOptions & { isGlobal?: boolean } = {}): DynamicModule {
    return super.forRoot(options);
  }

  /** Options from a factory, a class (`DelayQueueOptionsFactory`) or an existing provider. */
  static override forRootAsync(options: Parameters<typeof ConfigurableModuleClass.forRootAsync>[0]): DynamicModule {
    return super.forRootAsync(options);
  }
}
