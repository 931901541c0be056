import {
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  Module,
} from '@nestjs/common';
import { asConfiguration, assertOptions } from '../checks/validate.js';
import type { DelayQueueConnection } from '../composition/delay-queue.connection.js';
import { DEFAULT_CONNECTION, tokensOf } from '../nest/decorators/delay-queue.tokens.js';
import { ASYNC_OPTIONS } from '../nest/module/async-options.js';
import { DelayQueueOutbox } from './delay-queue-outbox.js';
import { assertOutboxOptions, type DelayQueueOutboxOptions } from './outbox-options.js';

/** Options that are known only when the application is created. */
type LateOptions = Omit<DelayQueueOutboxOptions, 'connection'>;

/**
 * Options of `DelayQueueOutboxModule.forRootAsync()`.
 *
 * @publicApi
 */
export type DelayQueueOutboxAsyncOptions = ConfigurableModuleAsyncOptions<Omit<DelayQueueOutboxOptions, 'connection'>> &
  Pick<DelayQueueOutboxOptions, 'connection'>;

const OPTIONS = Symbol('DelayQueueOutboxOptions');

const { ConfigurableModuleClass } = new ConfigurableModuleBuilder<LateOptions>({
  moduleName: 'DelayQueueOutbox',
  optionsInjectionToken: OPTIONS,
})
  .setClassMethodName('forRoot')
  .setExtras<Pick<DelayQueueOutboxOptions, 'connection'>>(
    { connection: DEFAULT_CONNECTION },
    (definition, { connection = DEFAULT_CONNECTION }) => {
      const outbox = {
        provide: DelayQueueOutbox,
        useFactory: (options: LateOptions, of: DelayQueueConnection) => {
          assertOutboxOptions('DelayQueueOutboxModule', options);
          return new DelayQueueOutbox(of, options);
        },
        inject: [OPTIONS, tokensOf(connection).connection],
      };
      return { ...definition, providers: [...(definition.providers ?? []), outbox] };
    },
  )
  .build();

/**
 * Makes the calls of `DelayQueueProducer` part of the transactions of your database. Import it once for each connection, beside
 * `DelayQueueModule`.
 *
 * @example
 * ```ts
 * DelayQueueOutboxModule.forRootAsync({
 *   inject: [KNEX],
 *   useFactory: (knex: Knex) => ({ adapter: knexOutbox(knex), required: ['order.*'] }),
 * });
 * ```
 *
 * @publicApi
 */
@Module({})
export class DelayQueueOutboxModule extends ConfigurableModuleClass {
  /** Wrong options fail the boot. */
  static override forRoot(options: DelayQueueOutboxOptions): DynamicModule {
    return super.forRoot(options);
  }

  /**
   * Takes options from a factory, a class or an existing provider. `connection` is given next to them.
   *
   * @throws ConfigurationError if an option is unknown
   */
  static override forRootAsync(options: DelayQueueOutboxAsyncOptions): DynamicModule {
    asConfiguration('DelayQueueOutboxModule.forRootAsync()', () =>
      assertOptions('Its options', options, ['connection', ...ASYNC_OPTIONS]),
    );
    return super.forRootAsync(options);
  }
}
