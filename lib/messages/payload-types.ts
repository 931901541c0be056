import type { DelayQueueTopics } from './delay-queue-topics.interface.js';
import type { Topic } from './topic.js';

/**
 * The name of a topic: any string, of which editors offer those in {@link DelayQueueTopics}.
 *
 * @publicApi
 */
export type TopicName = keyof DelayQueueTopics | (string & {});

/**
 * A `TopicRef`, of which editors offer the names in {@link DelayQueueTopics}.
 *
 * @publicApi
 */
export type NamedTopic = Topic<unknown> | TopicName;

/**
 * What may be published to a topic: what {@link DelayQueueTopics} says of the name `N`, else `T`. Where neither is known,
 * as of a plain string, anything. It is one conditional type in place of two overloads, so that the compiler's complaint is
 * about the payload; and it does not distribute, so that functions with type parameters can pass theirs on.
 *
 * @publicApi
 */
export type PublishedPayload<T, N extends TopicName> = [N] extends [keyof DelayQueueTopics] ? DelayQueueTopics[N] : T;

/**
 * What the handler of these topics is given: a union if they are several, `unknown` if the compiler cannot know.
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
