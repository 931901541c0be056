import type { ConfigurableModuleAsyncOptions } from '@nestjs/common';
import type { DelayQueueModuleOptions } from '../connection/delay-queue-options.interface.js';

/** What is configured at run time: all but what has to be known when the module is imported. */
export type RuntimeOptions = Omit<DelayQueueModuleOptions, 'name' | 'isGlobal'>;

/**
 * Options of `DelayQueueModule.forRootAsync()`.
 *
 * @publicApi
 */
export type DelayQueueAsyncOptions = ConfigurableModuleAsyncOptions<RuntimeOptions, 'createDelayQueueOptions'> &
  Pick<DelayQueueModuleOptions, 'name' | 'isGlobal'>;

/**
 * Makes options for `DelayQueueModule.forRootAsync({ useClass })`.
 *
 * @publicApi
 */
export interface DelayQueueOptionsFactory {
  createDelayQueueOptions(): RuntimeOptions | Promise<RuntimeOptions>;
}
