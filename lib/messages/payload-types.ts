import type { Topic } from './topic.js';

/**
 * Payload types of topics that are named by plain strings. Empty until an application fills it in:
 *
 * @example
 * ```ts
 * declare module 'nestjs-delay-queue' {
 *   interface DelayQueueTopics {
 *     'order.timeout': { orderId: string };
 *   }
 * }
 * ```
 *
 * @publicApi
 */
export interface DelayQueueTopics {}

/**
 * Name of a topic: any string; editors suggest those in {@link DelayQueueTopics}.
 *
 * @publicApi
 */
export type TopicName = keyof DelayQueueTopics | (string & {});

/**
 * A `TopicRef`; editors suggest the names in {@link DelayQueueTopics}.
 *
 * @publicApi
 */
export type NamedTopic = Topic<unknown> | TopicName;

/**
 * Type that can be published to a topic: the one that {@link DelayQueueTopics} has for the name `N`, else `T`, else anything. One
 * conditional type instead of two overloads lets the compiler complain about the payload. It does not distribute, so that functions with
 * type parameters can pass theirs on.
 *
 * @publicApi
 */
export type PublishedPayload<T, N extends TopicName> = [N] extends [keyof DelayQueueTopics] ? DelayQueueTopics[N] : T;

/**
 * Type that the handler of these topics gets: a union if there are several, `unknown` if the compiler cannot know.
 *
 * @publicApi
 */
export type HandledPayload<R extends NamedTopic | readonly NamedTopic[]> = R extends readonly (infer E extends
  NamedTopic)[]
  ? HandledPayload<E>
  : R extends Topic<unknown, infer Out>
    ? Out
    : R extends keyof DelayQueueTopics
      ? DelayQueueTopics[R]
      : unknown;
