import {
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  Inject,
  Module,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { asConfiguration, assertOptions } from '../../checks/validate.js';
import type { DelayQueueModuleOptions } from '../../composition/delay-queue-options.interface.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import { DEFAULT_CONNECTION, isConnectionToken } from '../decorators/delay-queue.tokens.js';
import { ASYNC_OPTIONS } from './async-options.js';
import { connectionProviders, injectables, MODULE_OPTIONS, twinProviders } from './delay-queue.providers.js';

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
 * Creates options for `DelayQueueModule.forRootAsync({ useClass })`.
 *
 * @publicApi
 */
export interface DelayQueueOptionsFactory {
  createDelayQueueOptions():
    | Omit<DelayQueueModuleOptions, 'name' | 'isGlobal'>
    | Promise<Omit<DelayQueueModuleOptions, 'name' | 'isGlobal'>>;
}

/** Settings that are fixed when the module is imported, before its options are known. */
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
      // Nest reads these when it creates the application. By then, other copies of this package may have been loaded.
      get providers() {
        return [...providers, ...twinProviders(exported)];
      },
      get exports() {
        return [...exported, ...twinProviders(exported).map(({ provide }) => provide)];
      },
    };
  })
  .build();

/**
 * Delayed messages on Redis. Import it once for each connection, in the root module.
 *
 * @example
 * ```ts
 * @Module({ imports: [DelayQueueModule.forRoot({ redis: 'redis://localhost:6379' })], providers: [OrderService] })
 * export class AppModule {}
 * ```
 *
 * @publicApi
 */
@Module({ imports: [DiscoveryModule] })
export class DelayQueueModule extends ConfigurableModuleClass implements OnModuleInit {
  readonly #discovery: DiscoveryService;

  constructor(@Inject(DiscoveryService) discovery: DiscoveryService) {
    super();
    this.#discovery = discovery;
  }

  /** Returns the module of a connection. With `isGlobal` (default true) other modules need not import it. Wrong options fail the boot. */
  static override forRoot(options: DelayQueueModuleOptions = {}): DynamicModule {
    return super.forRoot(withoutUndefined(options));
  }

  /**
   * Takes options from a factory, a class (`DelayQueueOptionsFactory`) or an existing provider. `name` and `isGlobal` are given next to
   * them.
   *
   * @throws ConfigurationError if an option is unknown
   */
  static override forRootAsync(options: DelayQueueAsyncOptions): DynamicModule {
    asConfiguration('DelayQueueModule.forRootAsync()', () =>
      assertOptions('Its options', options, ['name', 'isGlobal', ...ASYNC_OPTIONS]),
    );
    return super.forRootAsync(withoutUndefined(options));
  }

  /** @throws ConfigurationError if the application imports the class itself, but no result of `forRoot()` */
  onModuleInit(): void {
    if (this.#discovery.getProviders().some(({ token }) => isConnectionToken(token))) return;
    throw new ConfigurationError(
      'DelayQueueModule is imported without a connection, so no handler would ever be called: import DelayQueueModule.forRoot() or ' +
        'forRootAsync(), once, in the root module.',
    );
  }
}

/** Drops options that are `undefined`, since Nest would use them in place of defaults. */
function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
