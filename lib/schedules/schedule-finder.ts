import type { Broker, FoundSchedule, Partition, SchedulePlace, TopicOrder } from '../broker/broker.interface.js';
import { serveWithin } from '../broker/serve.js';
import { SerializationError } from '../errors/publishing.errors.js';
import { partitionOf } from '../messages/partitioner.js';
import type { Clock } from '../time/clock.js';
import { Lanes } from '../topics/lanes.js';
import { storedConfig } from '../topics/partitions.js';
import type { TopicRegistry } from '../topics/topic.registry.js';
import { assertScheduleId } from './check-schedule.js';
import { type ScheduleRecord, readSchedule } from './schedule-record.js';

/** Most schedules that one call brings, since their payloads come along. */
const PAGE = 50;

export interface ScheduleFinderOptions {
  readonly store: Pick<Broker, 'configOf' | 'findSchedule' | 'listSchedules' | 'getSchedules'>;
  readonly topics: TopicRegistry;
  readonly clock: Clock;
  /** Longest time for an answer, in milliseconds. */
  readonly timeout: number;
}

/** Where a schedule is, and all that it publishes. */
export interface ScheduleHome {
  readonly partition: Partition;
  /** Of the topic. */
  readonly order: TopicOrder | undefined;
}

/** A schedule and where it is. */
export interface PlacedSchedule extends ScheduleHome {
  readonly record: ScheduleRecord;
}

/** Finds schedules by the list of all of them, which says in which partition each is. */
export class ScheduleFinder {
  readonly #options: ScheduleFinderOptions;

  constructor(options: ScheduleFinderOptions) {
    this.#options = options;
  }

  /** @throws InvalidArgumentError, BrokerUnavailableError */
  async find(id: string): Promise<PlacedSchedule | undefined> {
    assertScheduleId(id);
    const { store } = this.#options;
    const place = await this.#serve(() => store.findSchedule({ id }));
    if (!place) return undefined;
    const home = await this.homeOf(place);
    if (!home) return undefined;
    const [found] = await this.#serve(() => store.getSchedules(home.partition, [id]));
    const record = readable(found);
    return record && { record, ...home };
  }

  /**
   * In the order of their ids, a page at a time of each partition.
   *
   * @throws BrokerUnavailableError
   */
  async findAll(): Promise<PlacedSchedule[]> {
    const { store } = this.#options;
    const byPartition = new Lanes(() => new Array<string>());
    const used = new Map<string[], ScheduleHome>();
    for (const { id, ...place } of await this.#serve(() => store.listSchedules())) {
      const home = await this.homeOf(place);
      if (!home) continue;
      const ids = byPartition.get(home.partition.topic, home.partition.index);
      ids.push(id);
      used.set(ids, home);
    }
    const all: PlacedSchedule[] = [];
    for (const [ids, home] of used) {
      for (let first = 0; first < ids.length; first += PAGE) {
        const page = ids.slice(first, first + PAGE);
        for (const found of await this.#serve(() => store.getSchedules(home.partition, page))) {
          const record = readable(found);
          if (record) all.push({ record, ...home });
        }
      }
    }
    return all.toSorted((a, b) => (a.record.id < b.record.id ? -1 : 1));
  }

  /**
   * Where a schedule is that is on the list. The topic has the partitions and the order that are stored, whatever this process would
   * give it: one that only looks on has learnt neither.
   *
   * @returns `undefined` if nothing is stored of the topic
   * @throws BrokerUnavailableError
   */
  async homeOf({ topic, key }: SchedulePlace): Promise<ScheduleHome | undefined> {
    const { topics, store } = this.#options;
    const known = topics.knownPartitions(topic);
    const config =
      known === undefined
        ? await this.#serve(() => storedConfig(store, topic))
        : { partitions: known, order: topics.knownOrder(topic) };
    return config && { partition: { topic, index: partitionOf(key, config.partitions) }, order: config.order };
  }

  #serve<R>(operation: () => Promise<R>): Promise<R> {
    return serveWithin(this.#options.clock, this.#options.timeout, operation);
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
