import { ConfigurableModuleBuilder } from '@nestjs/common';
import { DEFAULT_CONNECTION } from '../decorators/delay-queue.constants.js';
import { connectionProviders } from './delay-queue.providers.js';
import { aliasesOf, tokensOf } from '../decorators/delay-queue.tokens.js';
import type { DelayQueueModuleOptions } from '../connection/delay-queue-options.interface.js';

/** What is decided when the module is imported, before its options are known. */
const EXTRAS = { isGlobal: true, name: DEFAULT_CONNECTION };

/** What is configured at run time: all but the {@link EXTRAS}. */
export type RuntimeOptions = Omit<DelayQueueModuleOptions, 'name' | 'isGlobal'>;

/** Injection token of the options as the application gave them. */
export const MODULE_OPTIONS = Symbol.for('nestjs-delay-queue.MODULE_OPTIONS');

export const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<RuntimeOptions>({
  moduleName: 'DelayQueue',
  optionsInjectionToken: MODULE_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createDelayQueueOptions')
  .setExtras(EXTRAS, (definition, { isGlobal, name }) => {
    const { producer, admin, events, health, redis } = tokensOf(name);
    const providers = [...(definition.providers ?? []), ...connectionProviders(name, MODULE_OPTIONS)];
    const exported = [producer, admin, events, health, redis];
    return {
      ...definition,
      global: isGlobal,
      // Nest reads these when it makes the application, and by then other copies of this package may have been loaded.
      get providers() {
        return [...providers, ...aliasesOf(exported)];
      },
      get exports() {
        return [...exported, ...aliasesOf(exported).map(({ provide }) => provide)];
      },
    };
  })
  .build();
