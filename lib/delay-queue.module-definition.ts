import { ConfigurableModuleBuilder } from '@nestjs/common';
import { DEFAULT_CONNECTION } from './delay-queue.constants.js';
import { connectionProviders } from './delay-queue.providers.js';
import { tokensOf } from './delay-queue.tokens.js';
import type { DelayQueueModuleOptions } from './interfaces/delay-queue-options.interface.js';

/** What is decided when the module is imported, before its options are known. */
const EXTRAS = { isGlobal: true, name: DEFAULT_CONNECTION };

/** What is configured at run time: all but the {@link EXTRAS}. */
export type RuntimeOptions = Omit<DelayQueueModuleOptions, 'name' | 'isGlobal'>;

/** Injection token of the options as the application gave them. */
export const MODULE_OPTIONS = Symbol('DELAY_QUEUE_MODULE_OPTIONS');

export const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<RuntimeOptions>({
  moduleName: 'DelayQueue',
  optionsInjectionToken: MODULE_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createDelayQueueOptions')
  .setExtras(EXTRAS, (definition, { isGlobal, name }) => {
    const { producer, admin, events, health, redis } = tokensOf(name);
    return {
      ...definition,
      global: isGlobal,
      providers: [...(definition.providers ?? []), ...connectionProviders(name, MODULE_OPTIONS)],
      exports: [producer, admin, events, health, redis],
    };
  })
  .build();
