import type { HandledPayload, NamedTopic, PublishedPayload, TopicName } from '../../messages/payload-types.js';
import type { Topic, TopicRef } from '../../messages/topic.js';
import type { ScheduledMessageOptions, ScheduleRule } from '../../schedules/schedule.interface.js';
import { DELAYED_HANDLER_METADATA, RECURRING_HANDLER_METADATA } from './delay-queue.tokens.js';
import type { DelayedHandlerMetadata, HandlerDecorator } from './delayed-handler.decorator.js';
import type { HandlerOptions } from './handler-options.interface.js';
import { mark } from './marks.js';

/**
 * Options of `@RecurringHandler()`: its schedule, its payload, and the options of `@DelayedHandler()`.
 *
 * @publicApi
 */
export interface RecurringHandlerOptions<P = unknown> extends ScheduleRule, Omit<HandlerOptions, 'batch'> {
  /** Id of the schedule, 1 to 200 characters. @defaultValue the name of the topic */
  id?: string;
  /** Payload of each message. @defaultValue null */
  payload?: P;
  /** Options of its messages. Set `attempts`, `backoff` and `timeout` directly, as options of the handler. */
  options?: Omit<ScheduledMessageOptions, 'attempts' | 'backoff' | 'timeout'>;
}

/** Metadata that {@link RecurringHandler} stores for a method, besides that of `@DelayedHandler()`. */
export interface RecurringHandlerMetadata {
  readonly topic: TopicRef;
  readonly options: RecurringHandlerOptions;
}

/**
 * Type of the payload that a `@RecurringHandler()` publishes to its topic.
 *
 * @publicApi
 */
export type RecurringPayload<R extends NamedTopic> =
  R extends Topic<infer In, unknown> ? In : R extends TopicName ? PublishedPayload<unknown, R> : unknown;

/**
 * Declares a schedule and the handler of its topic together. When the application boots, the schedule is stored or updated; each
 * occurrence is then handled by one process of the fleet. A paused schedule stays paused.
 *
 * A schedule that is no longer declared stays until you call `DelayQueueSchedules.prune()` or `remove()`. So during a rolling
 * deployment, old processes don't undo what new ones declare. A process with `consumer: false` declares nothing.
 *
 * @example
 * ```ts
 * @RecurringHandler('report.daily', { cron: '0 6 * * *', timeZone: 'Europe/Berlin' })
 * async sendReport(_payload: unknown, message: DelayedMessage) {
 *   await this.reports.send(message.dueAt);
 * }
 * ```
 *
 * @param topic a topic or its name
 * @throws ConfigurationError at boot, naming class and method, if topic or options cannot work
 *
 * @publicApi
 */
export function RecurringHandler<const R extends NamedTopic>(
  topic: R,
  options: RecurringHandlerOptions<RecurringPayload<R>>,
): HandlerDecorator<HandledPayload<R>, undefined> {
  const { concurrency, attempts, backoff, timeout, lease, connection, onRefusal } = options ?? {};
  const given = { concurrency, attempts, backoff, timeout, lease, connection, onRefusal };
  const handler: DelayedHandlerMetadata = { topics: [topic], options: withoutGaps(given) };
  const schedule: RecurringHandlerMetadata = { topic, options };
  const decorate: MethodDecorator = (...place) => {
    mark(DELAYED_HANDLER_METADATA, 'RecurringHandler', place, handler);
    mark(RECURRING_HANDLER_METADATA, 'RecurringHandler', place, schedule);
  };
  return decorate;
}

/** Drops options that are not given: the topic's apply then. */
function withoutGaps(options: { [K in keyof HandlerOptions]: HandlerOptions[K] | undefined }): HandlerOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
