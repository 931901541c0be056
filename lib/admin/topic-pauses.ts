import { v7 as uuidv7 } from 'uuid';
import type { Broker } from '../store/broker.interface.js';
import type { CallId, Partition } from '../store/partition.js';
import { ChangeLane } from '../store/calls/change-lane.js';
import { Lanes } from '../store/calls/lanes.js';
import { existingPartitions } from '../store/partitions.js';
import { type TopicRef, checkedTopicName } from '../messages/topic.js';
import { type AdminDependencies, served } from './admin-dependencies.js';

/**
 * Pauses, holds and resumes topics. Each partition gets one call after the other, so that a delayed copy of a call changes nothing once a
 * later one was served.
 */
export class TopicPauses {
  readonly #dependencies: Pick<AdminDependencies, 'broker' | 'clock' | 'timeout'>;
  readonly #lanes: Lanes<ChangeLane>;

  constructor(dependencies: Pick<AdminDependencies, 'broker' | 'clock' | 'timeout'>) {
    this.#dependencies = dependencies;
    const { clock, timeout } = dependencies;
    const caller = `${uuidv7()}:topic`;
    this.#lanes = new Lanes((partition) => new ChangeLane({ clock, partition, timeout, caller }));
  }

  async pause(topic: TopicRef): Promise<void> {
    await this.#inEach(topic, (broker, partition, call) => broker.deliveries.pause(partition, call));
  }

  /**
   * @param delay milliseconds
   * @returns end of the hold of all partitions, in epoch milliseconds
   */
  async hold(topic: TopicRef, delay: number): Promise<number> {
    return Math.min(
      ...(await this.#inEach(topic, (broker, partition, call) => broker.deliveries.hold(partition, call, delay))),
    );
  }

  async resume(topic: TopicRef): Promise<void> {
    await this.#inEach(topic, (broker, partition, call) => broker.deliveries.resume(partition, call));
  }

  async #inEach<T>(
    topic: TopicRef,
    act: (broker: Broker, partition: Partition, call: CallId) => Promise<T>,
  ): Promise<T[]> {
    const name = checkedTopicName(topic);
    const { broker } = this.#dependencies;
    const partitions = await served(this.#dependencies, () => existingPartitions(broker, name));
    return Promise.all(
      partitions.map(async ({ index }) =>
        this.#lanes.get(name, index).send((partition, call) => act(broker, partition, call)),
      ),
    );
  }
}
