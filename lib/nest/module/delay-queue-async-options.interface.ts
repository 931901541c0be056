import type { ConfigurableModuleAsyncOptions } from '@nestjs/common';
import type { DelayQueueModuleOptions } from '../../composition/delay-queue-options.interface.js';

/**
 * Options of `DelayQueueModule.forRootAsync()`.
 *
 * @publicApi
 */
export type DelayQueueAsyncOptions = ConfigurableModuleAsyncOptions<
  Omit<DelayQueueModuleOptions, 'name' | 'isGlobal'>,
  'createDelayQueueOptions'
> &
  Pick<DelayQueueModuleOptions, 'name' | 'isGlobal'>;

/**
 * Makes options for `DelayQueueModule.forRootAsync({ useClass })`.
 *
 * @publicApi
 */
export interface DelayQueueOptionsFactory {
  createDelayQueueOptions():
    | Omit<DelayQueueModuleOptions, 'name' | 'isGlobal'>
    | Promise<Omit<DelayQueueModuleOptions, 'name' | 'isGlobal'>>;
}
