import type { Broker } from './broker.interface.js';
import { SPOKEN, type TopicConfig, isSpoken } from './fleet/topic-config.js';
import type { Partition } from './partition.js';
import { ConfigurationError, InvalidArgumentError } from '../errors/options.errors.js';

type ConfigStore = Pick<Broker, 'fleet'>;

/** @throws ConfigurationError if a topic is stored in another way than this version of the library knows */
export function assertProtocol(topic: string, protocol: number): void {
  if (isSpoken(protocol)) return;
  throw new ConfigurationError(
    `Topic '${topic}' was created with protocol version ${protocol}, this version of the library speaks ` +
      `${SPOKEN}. Use a version that speaks ${protocol}, or another prefix.`,
  );
}

/**
 * Returns the number of partitions of a topic that is to be changed; `undefined` if the topic was never used.
 *
 * @throws ConfigurationError if it speaks another protocol
 */
export async function partitionCount(store: ConfigStore, topic: string): Promise<number | undefined> {
  const config = await store.fleet.configOf(topic);
  if (config) assertProtocol(topic, config.protocol);
  return config?.partitions;
}

/**
 * Returns the stored config of a topic that is to be changed as a whole. A topic that was never used is probably misspelt.
 *
 * @throws InvalidArgumentError if the topic was never used
 * @throws ConfigurationError if it speaks another protocol
 */
export async function existingConfig(store: ConfigStore, topic: string): Promise<TopicConfig> {
  const config = await store.fleet.configOf(topic);
  if (!config) {
    throw new InvalidArgumentError(
      `There is no topic '${topic}' under this prefix: nobody has published to it or handled it. See topics().`,
    );
  }
  assertProtocol(topic, config.protocol);
  return config;
}

/**
 * Returns the partitions of a topic.
 *
 * @throws InvalidArgumentError, ConfigurationError as {@link existingConfig}
 */
export async function existingPartitions(store: ConfigStore, topic: string): Promise<Partition[]> {
  return partitionsOf(topic, (await existingConfig(store, topic)).partitions);
}

export function partitionsOf(topic: string, count: number): Partition[] {
  return Array.from({ length: count }, (_, index) => ({ topic, index }));
}
