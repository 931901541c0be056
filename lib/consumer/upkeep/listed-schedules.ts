import { randomUUID } from 'node:crypto';
import type { Broker } from '../../store/broker.interface.js';
import type { Partition } from '../../store/partition.js';
import { ChangeLane } from '../../store/calls/change-lane.js';
import type { ConsumerContext } from '../consumer-context.js';

/** For how long a removal is tried, in milliseconds; the next look tries again. */
const TIMEOUT = 5000;

/**
 * Sees that the list of all schedules leads to those that a partition publishes. One that it does not lead to is shown nowhere and cannot be
 * removed: its process has died between two writes, or Redis has lost the list.
 */
export class ListedSchedules {
  readonly #broker: Broker;
  readonly #partition: Partition;
  readonly #removals: ChangeLane;
  /** Those that were looked for. */
  readonly #known = new Set<string>();

  constructor({ broker, clock }: Pick<ConsumerContext, 'broker' | 'clock'>, partition: Partition) {
    this.#broker = broker;
    this.#partition = partition;
    this.#removals = new ChangeLane({ clock, caller: randomUUID(), partition, timeout: TIMEOUT });
  }

  /**
   * Looks once for each schedule. Never rejects.
   *
   * @param key of its messages
   * @returns the topic for which the list has it, if that is not this partition's: the schedule was removed here
   */
  async check(id: string, key: string): Promise<string | undefined> {
    if (this.#known.has(id)) return undefined;
    this.#known.add(id);
    try {
      return await this.#look(id, key);
    } catch {
      // Next time.
      this.#known.delete(id);
      return undefined;
    }
  }

  async #look(id: string, key: string): Promise<string | undefined> {
    const { topic } = this.#partition;
    const place = await this.#broker.schedules.findSchedule({ id });
    if (place?.topic === topic && place.key === key) return undefined;
    const [stored] = await this.#broker.schedules.getSchedules(this.#partition, [id]);
    if (!stored) return undefined;
    if (!place) {
      await this.#broker.schedules.indexSchedule({ id, topic, key });
      return undefined;
    }
    await this.#removals.send((partition, call) => this.#broker.schedules.removeSchedule(partition, call, id));
    return place.topic;
  }
}
