import type { Broker } from '../broker/broker.interface.js';
import { ConfigurationError } from '../errors/options.errors.js';
import { assertProtocol } from './partitions.js';
import { DEFAULT_PARTITIONS, type TopicSettings } from './topic-settings.interface.js';

/** What this process knows of each topic: its settings, and how many partitions it has. */
export class TopicRegistry {
  readonly #groups: Pick<Broker, 'configure'>;
  readonly #settingsOf: (topic: string) => TopicSettings;
  readonly #settings = new Map<string, TopicSettings>();
  readonly #partitions = new Map<string, number>();

  constructor(groups: Pick<Broker, 'configure'>, settingsOf: (topic: string) => TopicSettings) {
    this.#groups = groups;
    this.#settingsOf = settingsOf;
  }

  settings(topic: string): TopicSettings {
    let settings = this.#settings.get(topic);
    if (!settings) this.#settings.set(topic, (settings = this.#settingsOf(topic)));
    return settings;
  }

  /** Number of partitions of every topic that this process has used. */
  get known(): ReadonlyMap<string, number> {
    return this.#partitions;
  }

  /** Its number of partitions; `undefined` if this process has not asked yet. */
  knownPartitions(topic: string): number | undefined {
    return this.#partitions.get(topic);
  }

  /**
   * Its number of partitions. The first process to use a topic fixes it.
   *
   * @throws ConfigurationError if this process was told another number, or speaks another protocol
   * @throws BrokerUnavailableError
   */
  async partitions(topic: string): Promise<number> {
    const wanted = this.settings(topic).partitions;
    const { partitions, protocol } = await this.#groups.configure(topic, wanted ?? DEFAULT_PARTITIONS);
    assertProtocol(topic, protocol);
    if (wanted !== undefined && wanted !== partitions) {
      throw new ConfigurationError(
        `Topic '${topic}' has ${partitions} partitions, but this process is configured with ${wanted}. The number is ` +
          `fixed at the first use of a topic: configure ${partitions}, or leave 'partitions' out, or use another topic.`,
      );
    }
    this.#partitions.set(topic, partitions);
    return partitions;
  }
}
