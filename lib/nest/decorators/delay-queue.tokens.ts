import { DEFAULT_CONNECTION } from './delay-queue.constants.js';

/** Injection token of the ioredis client that the module sends its commands through. */
export const DELAY_QUEUE_REDIS = Symbol.for('nestjs-delay-queue.DELAY_QUEUE_REDIS');

const CONNECTION = 'DELAY_QUEUE_CONNECTION';

/**
 * The injection tokens of a connection. They are the same in every copy of this package, so that one copy can replace, inject
 * and look up what another one provides; and they are no classes, so that a decorator loads nothing of the runtime. They are
 * readable, since Nest's messages show them.
 */
export interface ConnectionTokens {
  readonly producer: string;
  readonly admin: string;
  readonly events: string;
  readonly health: string;
  readonly consumers: string;
  readonly receiver: string;
  readonly schedules: string;
  readonly redis: string | symbol;
  /** What all of these are parts of. */
  readonly connection: string;
  /** What the connection stands on; the testing kit replaces it. */
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
