import { type DynamicModule, type FactoryProvider, type InjectionToken, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { DEFAULT_CONNECTION } from '../decorators/delay-queue.constants.js';
import { DelayQueueModule } from '../module/delay-queue.module.js';
import { aliasesOf } from '../decorators/delay-queue.tokens.js';
import type { DelayQueueAsyncOptions, DelayQueueModuleOptions } from '../connection/delay-queue-options.interface.js';
import { DelayQueueHarness } from './delay-queue.harness.js';
import type { HarnessOptions } from './harness-options.interface.js';
import { replacementsOf } from './replacements.js';

/**
 * Injection token of the {@link DelayQueueHarness} of a connection; without a name, the class itself.
 *
 * @publicApi
 */
export function getDelayQueueHarnessToken(connection: string = DEFAULT_CONNECTION): InjectionToken {
  return connection === DEFAULT_CONNECTION ? DelayQueueHarness : `DelayQueueHarness(${connection})`;
}

/**
 * `DelayQueueModule` on a broker in memory, with a clock that the test moves. It takes the same options, so those of the
 * application can be given, and provides the same, and a {@link DelayQueueHarness}.
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
  /** `redis` has no effect. Each application that is made of the module has a harness of its own. */
  static override forRoot(options: DelayQueueModuleOptions = {}, harness: HarnessOptions = {}): DynamicModule {
    return onHarness(super.forRoot(options), options.name, harness);
  }

  /** As `DelayQueueModule.forRootAsync()`. */
  static override forRootAsync(options: DelayQueueAsyncOptions, harness: HarnessOptions = {}): DynamicModule {
    return onHarness(super.forRootAsync(options), options.name, harness);
  }
}

/** Of two providers with the same token Nest takes the later one. */
function onHarness(definition: DynamicModule, connection: string | undefined, options: HarnessOptions): DynamicModule {
  const token = getDelayQueueHarnessToken(connection);
  const replacements = replacementsOf(connection ?? DEFAULT_CONNECTION).map((replacement): FactoryProvider => ({
    provide: replacement.token,
    useFactory: ({ backend }: DelayQueueHarness, ...injected: never[]) => replacement.make(backend, ...injected),
    inject: [token, ...replacement.inject],
  }));
  const harness = { provide: token, useFactory: () => new DelayQueueHarness(options) };
  return {
    ...definition,
    // Read when Nest makes the application, as those of the module itself.
    get providers() {
      return [...(definition.providers ?? []), harness, ...replacements, ...aliasesOf([token])];
    },
    get exports() {
      return [...(definition.exports ?? []), token, ...aliasesOf([token]).map(({ provide }) => provide)];
    },
  };
}
