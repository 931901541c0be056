import { type DynamicModule, type InjectionToken, Module, type Provider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import type { DelayQueueModuleOptions } from '../composition/delay-queue-options.interface.js';
import { DEFAULT_CONNECTION, tokensOf } from '../nest/decorators/delay-queue.tokens.js';
import { type DelayQueueAsyncOptions, DelayQueueModule } from '../nest/module/delay-queue.module.js';
import { twinProviders } from '../nest/module/delay-queue.providers.js';
import { DelayQueueHarness } from './delay-queue.harness.js';
import type { HarnessOptions } from './virtual-time.js';

/**
 * Returns the injection token of the {@link DelayQueueHarness} of a connection; without a name, the class itself.
 *
 * @publicApi
 */
export function getDelayQueueHarnessToken(connection: string = DEFAULT_CONNECTION): InjectionToken {
  return connection === DEFAULT_CONNECTION ? DelayQueueHarness : `DelayQueueHarness(${connection})`;
}

/**
 * `DelayQueueModule` on a broker in this process, with a clock that the test moves. It takes the same options, so those of the application
 * work. It provides the same, and also a {@link DelayQueueHarness}.
 *
 * @example
 * ```ts
 * const module = await Test.createTestingModule({
 *   imports: [DelayQueueTestingModule.forRoot()],
 *   providers: [OrderService],
 * }).compile();
 * await module.init();
 * const harness = module.get(DelayQueueHarness);
 * ```
 *
 * @publicApi
 */
@Module({ imports: [DiscoveryModule] })
export class DelayQueueTestingModule extends DelayQueueModule {
  /** Returns the module of a connection. `redis` has no effect. Each application made from the module has its own harness. */
  static override forRoot(options: DelayQueueModuleOptions = {}, harness: HarnessOptions = {}): DynamicModule {
    return onHarness(super.forRoot(options), options.name, harness);
  }

  /** Works like `DelayQueueModule.forRootAsync()`. */
  static override forRootAsync(options: DelayQueueAsyncOptions, harness: HarnessOptions = {}): DynamicModule {
    return onHarness(super.forRootAsync(options), options.name, harness);
  }
}

/** Adds the harness to a module. Of two providers with the same token Nest takes the later one. */
function onHarness(definition: DynamicModule, connection = DEFAULT_CONNECTION, options: HarnessOptions): DynamicModule {
  const token = getDelayQueueHarnessToken(connection);
  const providers: Provider[] = [
    { provide: token, useFactory: () => new DelayQueueHarness(options) },
    {
      provide: tokensOf(connection).backend,
      useFactory: ({ backend }: DelayQueueHarness) => backend,
      inject: [token],
    },
  ];
  return {
    ...definition,
    // Read when Nest creates the application, like those of the module itself.
    get providers() {
      return [...(definition.providers ?? []), ...providers, ...twinProviders([token])];
    },
    get exports() {
      return [...(definition.exports ?? []), token, ...twinProviders([token]).map(({ provide }) => provide)];
    },
  };
}
