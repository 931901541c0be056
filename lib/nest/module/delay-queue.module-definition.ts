import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { DelayQueueModuleOptions } from '../../composition/delay-queue-options.interface.js';
import { DEFAULT_CONNECTION } from '../decorators/delay-queue.constants.js';
import { MODULE_OPTIONS, connectionProviders, injectables, twinProviders } from './delay-queue.providers.js';

/** What is decided when the module is imported, before its options are known. */
const EXTRAS = { isGlobal: true, name: DEFAULT_CONNECTION };

export const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<
  Omit<DelayQueueModuleOptions, 'name' | 'isGlobal'>
>({
  moduleName: 'DelayQueue',
  optionsInjectionToken: MODULE_OPTIONS,
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createDelayQueueOptions')
  .setExtras(EXTRAS, (definition, { isGlobal, name }) => {
    const providers = [...(definition.providers ?? []), ...connectionProviders(name)];
    const exported = injectables(name);
    return {
      ...definition,
      global: isGlobal,
      // Nest reads these when it makes the application. By then, other copies of this package may have been loaded.
      get providers() {
        return [...providers, ...twinProviders(exported)];
      },
      get exports() {
        return [...exported, ...twinProviders(exported).map(({ provide }) => provide)];
      },
    };
  })
  .build();
