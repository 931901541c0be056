import type { UnhandledTopicError } from '../errors/unhandled-topic.error.js';
import type { ConnectionHealth, TopicHealth } from './health-report.interface.js';

/** What keeps this process from working. */
export function failuresOf(connection: ConnectionHealth, topics: readonly TopicHealth[]): string[] {
  if (connection.status === 'down') return [`Redis cannot be reached: ${connection.error}`];
  return topics
    .filter(({ stalled }) => stalled)
    .map(({ topic }) => `Topic '${topic}': this process makes no progress, though it is connected`);
}

/** What makes messages late, here or elsewhere. */
export function impairmentsOf(
  connection: ConnectionHealth,
  topics: readonly TopicHealth[],
  unhandled: readonly UnhandledTopicError[],
): string[] {
  if (connection.status === 'down') return [];
  const ofTopics = topics.flatMap(({ topic, unowned, unreachable }) => [
    ...(unowned.length > 0 ? [`Topic '${topic}': no process owns partitions ${unowned.join(', ')}`] : []),
    ...(unreachable.length > 0
      ? [`Topic '${topic}': Redis does not answer for partitions ${unreachable.join(', ')}`]
      : []),
  ]);
  const ofUnhandled = unhandled.map(({ topic, suggestion }) => {
    const meant = suggestion === undefined ? '' : `; did you mean '${suggestion}'?`;
    return `Topic '${topic}': this process publishes to it, and no process handles it${meant}`;
  });
  return [...(connection.signals === 'down' ? ['Signals do not come through'] : []), ...ofTopics, ...ofUnhandled];
}
