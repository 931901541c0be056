import { Inject } from '@nestjs/common';
import { DEFAULT_CONNECTION, tokensOf } from './delay-queue.tokens.js';

/**
 * Injects the `DelayQueueProducer` of a named connection, made by `DelayQueueModule.forRoot({ name })`. The one of a module
 * without a name can also be injected by its class.
 *
 * @example
 * ```ts
 * constructor(@InjectDelayQueueProducer('billing') private readonly producer: DelayQueueProducer) {}
 * ```
 *
 * @publicApi
 */
export function InjectDelayQueueProducer(
  connection: string = DEFAULT_CONNECTION,
): ParameterDecorator & PropertyDecorator {
  return Inject(tokensOf(connection).producer);
}

/**
 * Injects the `DelayQueueAdmin` of a named connection.
 *
 * @publicApi
 */
export function InjectDelayQueueAdmin(connection: string = DEFAULT_CONNECTION): ParameterDecorator & PropertyDecorator {
  return Inject(tokensOf(connection).admin);
}

/**
 * Injects the `DelayQueueEvents` of a named connection.
 *
 * @publicApi
 */
export function InjectDelayQueueEvents(
  connection: string = DEFAULT_CONNECTION,
): ParameterDecorator & PropertyDecorator {
  return Inject(tokensOf(connection).events);
}

/**
 * Injects the `DelayQueueHealth` of a named connection.
 *
 * @publicApi
 */
export function InjectDelayQueueHealth(
  connection: string = DEFAULT_CONNECTION,
): ParameterDecorator & PropertyDecorator {
  return Inject(tokensOf(connection).health);
}

/**
 * Injects the `DelayQueueConsumers` of a named connection.
 *
 * @publicApi
 */
export function InjectDelayQueueConsumers(
  connection: string = DEFAULT_CONNECTION,
): ParameterDecorator & PropertyDecorator {
  return Inject(tokensOf(connection).consumers);
}

/**
 * Injects the `DelayQueueReceiver` of a named connection.
 *
 * @publicApi
 */
export function InjectDelayQueueReceiver(
  connection: string = DEFAULT_CONNECTION,
): ParameterDecorator & PropertyDecorator {
  return Inject(tokensOf(connection).receiver);
}

/**
 * Injects the `DelayQueueSchedules` of a named connection.
 *
 * @publicApi
 */
export function InjectDelayQueueSchedules(
  connection: string = DEFAULT_CONNECTION,
): ParameterDecorator & PropertyDecorator {
  return Inject(tokensOf(connection).schedules);
}

/**
 * Injects the ioredis client of a named connection. The one of a module without a name also has the token
 * `DELAY_QUEUE_REDIS`.
 *
 * @publicApi
 */
export function InjectDelayQueueRedis(connection: string = DEFAULT_CONNECTION): ParameterDecorator & PropertyDecorator {
  return Inject(tokensOf(connection).redis);
}
