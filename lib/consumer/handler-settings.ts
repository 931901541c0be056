import type { TopicSettings } from '../fleet/topic-settings.interface.js';
import type { HandlerSettings } from './message-handler.interface.js';

/** Settings that a handler overrides for its topic. */
export interface OwnSettings {
  readonly lease: number;
  readonly attempts?: number | undefined;
  readonly backoff?: TopicSettings['backoff'] | undefined;
  readonly timeout?: number | undefined;
}

/**
 * Merges a topic's settings with a handler's own. A message delivered at most once has one attempt and no lease, since its claim removes
 * it.
 */
export function handlerSettings(
  topic: TopicSettings,
  { lease, attempts = topic.attempts, backoff = topic.backoff, timeout = topic.timeout }: OwnSettings,
): HandlerSettings {
  const isOnce = topic.delivery === 'at-most-once';
  return { ...topic, backoff, timeout, attempts: isOnce ? 1 : attempts, lease: isOnce ? 0 : lease };
}
