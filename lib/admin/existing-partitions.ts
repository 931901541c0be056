import type { Broker, Partition } from '../broker/broker.interface.js';
import { InvalidArgumentError } from '../errors/invalid-argument.error.js';
import { assertProtocol } from '../topics/assert-protocol.js';

type ConfigStore = Pick<Broker, 'configOf'>;

/**
 * The partitions of a topic that is to be acted on. Nothing is done to one that nobody uses, since that is a slip of the pen.
 *
 * @throws InvalidArgumentError where the topic was never used
 * @throws ConfigurationError where it speaks another protocol
 */
export async function existingPartitions(store: ConfigStore, topic: string): Promise<Partition[]> {
  const count = await partitionCount(store, topic);
  if (count === undefined) {
    throw new InvalidArgumentError(
      `There is no topic '${topic}' under this prefix: nobody has published to it or handled it. See topics().`,
    );
  }
  return Array.from({ length: count }, (_, index) => ({ topic, index }));
}

/**
 * How many partitions a topic has that is to be acted on; `undefined` where it was never used.
 *
 * @throws ConfigurationError where it speaks another protocol
 */
export async function partitionCount(store: ConfigStore, topic: string): Promise<number | undefined> {
  const config = await store.configOf(topic);
  if (config) assertProtocol(topic, config.protocol);
  return config?.partitions;
}
