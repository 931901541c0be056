import type { TopicRef } from '../messages/topic.js';
import type { MessageFilter } from './message-filter.js';
import type { PeekOptions, PeekState, Peeked } from './peek.js';
import type { Found, SearchOptions } from './search.js';

/** `peek()` and `search()` for viewers who are not allowed to see all of a message. */
export interface ViewedMessages<T> {
  peek(topic: TopicRef, state: PeekState, options?: PeekOptions): Promise<Peeked<T>>;
  search(topic: TopicRef, filter: MessageFilter, options?: SearchOptions): Promise<Found<T>>;
}
