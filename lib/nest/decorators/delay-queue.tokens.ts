/** Metadata keys of the marks that decorators leave on classes. */
export const DELAYED_HANDLER_METADATA = 'delay-queue:handler';
export const RECURRING_HANDLER_METADATA = 'delay-queue:recurring-handler';
export const ON_DEAD_LETTER_METADATA = 'delay-queue:on-dead-letter';

/**
 * Nest's own mark of providers that are called from outside, such as WebSocket gateways. Nest creates scoped global enhancers for them as
 * it does for controllers.
 */
export const ENTRY_PROVIDER_METADATA = '__entryProvider__';

/** Name of the connection of a module without a name. */
export const DEFAULT_CONNECTION = 'default';

/** Injection token of the ioredis client that the module sends its commands through. */
export const DELAY_QUEUE_REDIS = Symbol.for('nestjs-delay-queue.DELAY_QUEUE_REDIS');

const CONNECTION = 'DELAY_QUEUE_CONNECTION';

/**
 * Injection tokens of a connection. They are the same in every copy of this package, so that one copy can replace, inject and look up
 * providers of another; and they are not classes, so that a decorator does not load the runtime. They are readable, since Nest's messages
 * show them.
 */
interface ConnectionTokens {
  readonly producer: string;
  readonly admin: string;
  readonly events: string;
  readonly health: string;
  readonly consumers: string;
  readonly receiver: string;
  readonly schedules: string;
  readonly redis: string | symbol;
  /** Connection that all of these are parts of. */
  readonly connection: string;
  /** Backend of the connection; the testing kit replaces it. */
  readonly backend: string;
}

export function tokensOf(connection: string): ConnectionTokens {
  return {
    producer: `DelayQueueProducer(${connection})`,
    admin: `DelayQueueAdmin(${connection})`,
    events: `DelayQueueEvents(${connection})`,
    health: `DelayQueueHealth(${connection})`,
    consumers: `DelayQueueConsumers(${connection})`,
    receiver: `DelayQueueReceiver(${connection})`,
    schedules: `DelayQueueSchedules(${connection})`,
    redis: connection === DEFAULT_CONNECTION ? DELAY_QUEUE_REDIS : `DELAY_QUEUE_REDIS(${connection})`,
    connection: `${CONNECTION}(${connection})`,
    backend: `DELAY_QUEUE_BACKEND(${connection})`,
  };
}

/** Whether it is the token of a connection, whatever its name. */
export function isConnectionToken(token: unknown): boolean {
  return typeof token === 'string' && token.startsWith(`${CONNECTION}(`);
}
