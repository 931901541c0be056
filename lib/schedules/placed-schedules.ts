import type { Broker, FoundSchedule, Partition } from '../broker/broker.interface.js';
import { serveWithin } from '../broker/serve.js';
import { SerializationError } from '../errors/publishing.errors.js';
import { partitionOf } from '../messages/partitioner.js';
import type { Clock } from '../time/clock.js';
import { Lanes } from '../topics/lanes.js';
import type { TopicRegistry } from '../topics/topic.registry.js';
import { assertScheduleId } from './check-schedule.js';
import { type ScheduleRecord, readSchedule } from './schedule-record.js';

/** Most schedules that one call brings, since their payloads come along. */
const PAGE = 50;

/** A schedule and the partition that it is in. */
export interface PlacedSchedule {
  readonly record: ScheduleRecord;
  readonly partition: Partition;
}

export interface PlacedSchedulesDependencies {
  readonly store: Pick<Broker, 'findSchedule' | 'listSchedules' | 'getSchedules' | 'now'>;
  readonly topics: TopicRegistry;
  readonly clock: Clock;
  /** Longest time for an answer, in milliseconds. */
  readonly timeout: number;
}

/** Finds schedules, which stand in a list and in the partitions of their topics. */
export class PlacedSchedules {
  readonly #dependencies: PlacedSchedulesDependencies;

  constructor(dependencies: PlacedSchedulesDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws InvalidArgumentError, BrokerUnavailableError */
  async find(id: string): Promise<PlacedSchedule | undefined> {
    assertScheduleId(id);
    const { store } = this.#dependencies;
    const place = await this.serve(() => store.findSchedule({ id }));
    if (!place) return undefined;
    const partition = await this.partitionOf(place);
    const [found] = await this.serve(() => store.getSchedules(partition, [id]));
    const record = readable(found);
    return record && { record, partition };
  }

  /** In the order of their ids, a page at a time of each partition. */
  async all(): Promise<PlacedSchedule[]> {
    const { store } = this.#dependencies;
    const byPartition = new Lanes((partition) => ({ partition, ids: new Array<string>() }));
    const used = new Set<ReturnType<typeof byPartition.get>>();
    for (const { id, ...place } of await this.serve(() => store.listSchedules())) {
      const { topic, index } = await this.partitionOf(place);
      const one = byPartition.get(topic, index);
      one.ids.push(id);
      used.add(one);
    }
    const all: PlacedSchedule[] = [];
    for (const { partition, ids } of used) {
      for (let first = 0; first < ids.length; first += PAGE) {
        const page = ids.slice(first, first + PAGE);
        for (const found of await this.serve(() => store.getSchedules(partition, page))) {
          const record = readable(found);
          if (record) all.push({ record, partition });
        }
      }
    }
    return all.toSorted((a, b) => (a.record.id < b.record.id ? -1 : 1));
  }

  async partitionOf({ topic, key }: { topic: string; key: string }): Promise<Partition> {
    const { topics } = this.#dependencies;
    const partitions = topics.knownPartitions(topic) ?? (await this.serve(() => topics.partitions(topic)));
    return { topic, index: partitionOf(key, partitions) };
  }

  /** The clock that decides about a partition, in whole milliseconds. */
  now(partition: Partition): number {
    return Math.round(this.#dependencies.store.now(partition));
  }

  /** @throws BrokerUnavailableError if it is not answered in time */
  serve<R>(operation: () => Promise<R>): Promise<R> {
    const { clock, timeout } = this.#dependencies;
    return serveWithin(clock, timeout, operation);
  }
}

/** What another program has written over counts as not there: it can be stored anew. */
export function readable(found: FoundSchedule | undefined): ScheduleRecord | undefined {
  if (!found) return undefined;
  try {
    return readSchedule(found);
  } catch (error) {
    if (error instanceof SerializationError) return undefined;
    throw error;
  }
}
