import type { EventSink } from '../events/queue-events.interface.js';
import type { TopicRegistry } from '../fleet/topic.registry.js';

/**
 * Restores a topic. Call this if a publish found its partition new: it is so at its first publish, or because Redis has lost it, and then
 * perhaps the topic too. Never rejects.
 */
export async function restoreTopic(
  { topics, events }: { readonly topics: Pick<TopicRegistry, 'restore'>; readonly events: EventSink },
  topic: string,
): Promise<void> {
  try {
    await topics.restore(topic);
  } catch (error) {
    events.emit('errors', { source: 'membership', topic, error });
  }
}
