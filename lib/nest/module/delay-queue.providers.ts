import { type ExistingProvider, type InjectionToken, Logger, type Provider } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { DelayQueueAdmin } from '../../admin/delay-queue.admin.js';
import { asConfiguration } from '../../checks/validate.js';
import { type Backend, SystemBackend } from '../../composition/backend.js';
import { DelayQueueConnection } from '../../composition/delay-queue.connection.js';
import type { DelayQueueModuleOptions } from '../../composition/delay-queue-options.interface.js';
import { DelayQueueConsumers } from '../../consumer/delay-queue.consumers.js';
import { DelayQueueReceiver } from '../../consumer/delay-queue.receiver.js';
import { twinsOf } from '../../package-copies.js';
import { DEFAULT_CONNECTION, tokensOf } from '../decorators/delay-queue.tokens.js';
import { DelayQueueEvents } from '../../events/delay-queue.events.js';
import { ConfigurationError } from '../../errors/options.errors.js';
import { DeadLetterHookExplorer } from '../handlers/dead-letter-hook.explorer.js';
import { DecoratedMethods } from '../handlers/decorated-methods.js';
import { DelayedHandlerExplorer } from '../handlers/delayed-handler.explorer.js';
import { HandlerFactory } from '../handlers/handler-factory.js';
import { RecurringHandlerExplorer } from '../handlers/recurring-handler.explorer.js';
import { assertName } from '../../messages/topic.js';
import { DelayQueueHealth } from '../../monitoring/delay-queue.health.js';
import { DelayQueueProducer } from '../../producer/delay-queue.producer.js';
import { DelayQueueSchedules } from '../../schedules/delay-queue.schedules.js';
import { VERSION } from '../../version.js';
import { DelayQueueScheduler } from './delay-queue.scheduler.js';

/** Injection token of the options as the application gave them. */
export const MODULE_OPTIONS = Symbol.for('nestjs-delay-queue.MODULE_OPTIONS');

/** Context of all log lines. */
const LOG_CONTEXT = 'DelayQueue';

/** Parts that applications inject by their class, if they belong to the connection without a name. */
const CLASSES = {
  producer: DelayQueueProducer,
  admin: DelayQueueAdmin,
  events: DelayQueueEvents,
  health: DelayQueueHealth,
  consumers: DelayQueueConsumers,
  receiver: DelayQueueReceiver,
  schedules: DelayQueueSchedules,
} as const;

const PARTS = Object.keys(CLASSES) as readonly (keyof typeof CLASSES)[];

/** Returns the providers of a connection and of those of its fields that applications inject. */
export function connectionProviders(name: string): Provider[] {
  const tokens = tokensOf(name);
  return [
    { provide: tokens.backend, useFactory: () => new SystemBackend() },
    {
      provide: tokens.connection,
      useFactory: async (given: DelayQueueModuleOptions | null | undefined, backend: Backend) => {
        asConfiguration('DelayQueueModule', () => assertName('connection', name));
        const options = backend.resolve(assertGiven(given), VERSION);
        return DelayQueueConnection.create({ name, options, backend, log: new Logger(LOG_CONTEXT) });
      },
      inject: [MODULE_OPTIONS, tokens.backend],
    },
    ...PARTS.flatMap((part) => partProviders(name, part)),
    {
      provide: tokens.redis,
      useFactory: ({ redis }: DelayQueueConnection) => redis,
      inject: [tokens.connection],
    },
    DecoratedMethods,
    DelayedHandlerExplorer,
    RecurringHandlerExplorer,
    DeadLetterHookExplorer,
    HandlerFactory,
    {
      provide: DelayQueueScheduler,
      useFactory: (
        connection: DelayQueueConnection,
        handlers: DelayedHandlerExplorer,
        recurring: RecurringHandlerExplorer,
        hooks: DeadLetterHookExplorer,
        discovery: DiscoveryService,
      ) => new DelayQueueScheduler(connection, { handlers, recurring, hooks }, discovery),
      inject: [
        tokens.connection,
        DelayedHandlerExplorer,
        RecurringHandlerExplorer,
        DeadLetterHookExplorer,
        DiscoveryService,
      ],
    },
  ];
}

/** A factory that forgot to return would otherwise mean a Redis on this host. */
function assertGiven(options: DelayQueueModuleOptions | null | undefined): DelayQueueModuleOptions {
  if (options) return options;
  throw new ConfigurationError(
    `What makes the options of DelayQueueModule.forRootAsync() has returned ${options}. Return the options, or {} for all defaults.`,
  );
}

/** Returns the tokens that applications inject. */
export function injectables(name: string): InjectionToken[] {
  const tokens = tokensOf(name);
  const strings = [...PARTS.map((part) => tokens[part]), tokens.redis, tokens.connection];
  return name === DEFAULT_CONNECTION ? [...strings, ...Object.values(CLASSES)] : strings;
}

/** Returns providers that make each class token available under the same class from other copies of this package, too. */
export function twinProviders(tokens: readonly InjectionToken[]): ExistingProvider[] {
  return tokens.flatMap((token) => twinsOf(token).map((twin) => ({ provide: twin, useExisting: token })));
}

/**
 * Returns the providers of a part. The string token is an alias of the class, so that a test's replacement for the class is injected under
 * both.
 */
function partProviders(name: string, part: keyof typeof CLASSES): Provider[] {
  const { [part]: token, connection } = tokensOf(name);
  const provider = { useFactory: (from: DelayQueueConnection): unknown => from[part], inject: [connection] };
  if (name !== DEFAULT_CONNECTION) return [{ provide: token, ...provider }];
  return [
    { provide: CLASSES[part], ...provider },
    { provide: token, useExisting: CLASSES[part] },
  ];
}
