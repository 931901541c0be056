import type { GroupStore, Partition } from '../broker/broker.interface.js';
import { InvalidArgumentError } from '../errors/invalid-argument.error.js';
import { assertProtocol } from '../topics/assert-protocol.js';

/**
 * The partitions of a topic that is to be acted on. Nothing is done to one that nobody uses, since that is a slip of the pen.
 *
 * @throws InvalidArgumentError where the topic was never used
 * @throws ConfigurationError where it speaks another protocol
 */
export async function existingPartitions(store: Pick<GroupStore, 'configOf'>, topic: string): Promise<Partition[]> {
  const config = await store.configOf(topic);
  if (!config) {
    throw new InvalidArgumentError(
      `There is no topic '${topic}' under this prefix: nobody has published to it or handled it. See topics().`,
    );
  }
  assertProtocol(topic, config.protocol);
  return Array.from({ length: config.partitions }, (_, index) => ({ topic, index }));
}
