import type { TopicRegistry } from './topic.registry.js';
import { serveWithin } from '../store/calls/serve.js';
import type { Clock } from '../time/clock.js';

/**
 * Returns the number of partitions of a topic, which Redis is asked for once.
 *
 * @param timeout milliseconds
 * @throws BrokerUnavailableError, ConfigurationError
 */
export async function partitionsOf(
  topics: Pick<TopicRegistry, 'knownPartitions' | 'partitions'>,
  topic: string,
  clock: Clock,
  timeout: number,
): Promise<number> {
  return topics.knownPartitions(topic) ?? serveWithin(clock, timeout, () => topics.partitions(topic));
}
