import type { Broker } from '../store/broker.interface.js';
import type { Partition } from '../store/partition.js';
import type { FoundSchedule, SchedulePlace } from '../store/schedules/schedule-records.js';
import { partitionsOf } from '../fleet/partitions-of.js';
import { serveWithin } from '../store/calls/serve.js';
import { settleSome } from '../store/calls/settle-some.js';
import { DelayQueueError } from '../errors/delay-queue.error.js';
import { SerializationError } from '../errors/publishing.errors.js';
import { partitionOf } from '../messages/partitioner.js';
import type { Clock } from '../time/clock.js';
import { Lanes } from '../store/calls/lanes.js';
import type { TopicRegistry } from '../fleet/topic.registry.js';
import { assertScheduleId } from './check-schedule.js';
import { type ScheduleRecord, readSchedule } from './schedule-record.js';

/** Most schedules that one call reads, since their payloads come along. */
const PAGE = 50;

export interface PlacedSchedule {
  readonly record: ScheduleRecord;
  readonly partition: Partition;
}

/** A topic whose schedules could not all be read. */
export interface FailedTopic {
  readonly topic: string;
  /** Ids of the schedules that could not be read. */
  readonly ids: readonly string[];
  readonly error: DelayQueueError;
}

export interface AllSchedules {
  readonly found: readonly PlacedSchedule[];
  readonly failed: readonly FailedTopic[];
}

type Failure = FailedTopic & { readonly ids: string[] };

/** Schedules that one call reads. */
interface Page {
  readonly partition: Partition;
  readonly ids: string[];
}

export interface PlacedSchedulesDependencies {
  readonly store: Pick<Broker, 'schedules' | 'now'>;
  readonly topics: TopicRegistry;
  readonly clock: Clock;
  /** Time limit for an answer, in milliseconds. */
  readonly timeout: number;
}

/** Finds schedules, which are kept in a list and in the partitions of their topics. */
export class PlacedSchedules {
  readonly #dependencies: PlacedSchedulesDependencies;

  constructor(dependencies: PlacedSchedulesDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns the list's entry of a schedule, even if its topic cannot be read.
   *
   * @throws InvalidArgumentError, BrokerUnavailableError
   */
  async place(id: string): Promise<SchedulePlace | undefined> {
    assertScheduleId(id);
    return this.serve(() => this.#dependencies.store.schedules.findSchedule({ id }));
  }

  /** @throws InvalidArgumentError, BrokerUnavailableError */
  async find(id: string): Promise<PlacedSchedule | undefined> {
    const { store } = this.#dependencies;
    const place = await this.place(id);
    if (!place) return undefined;
    const partition = await this.partitionOf(place);
    const [found] = await this.serve(() => store.schedules.getSchedules(partition, [id]));
    const record = readable(found);
    return record && { record, partition };
  }

  /**
   * Returns all schedules in the order of their ids; reads each partition a page at a time.
   *
   * @throws BrokerUnavailableError if the list of all schedules cannot be read
   */
  async all(): Promise<AllSchedules> {
    const { store } = this.#dependencies;
    const failures = new Map<string, Failure>();
    const pages = await this.#pages(failures);
    const results = await settleSome(pages, async ({ partition, ids }) =>
      this.serve(() => store.schedules.getSchedules(partition, ids)),
    );
    const found = pages.flatMap(({ partition, ids }, i): PlacedSchedule[] => {
      const result = results[i] as (typeof results)[number];
      if (result.status === 'rejected') {
        note(failures, partition.topic, ids, result.reason);
        return [];
      }
      return result.value.flatMap((stored) => {
        const record = readable(stored);
        return record ? [{ record, partition }] : [];
      });
    });
    return { found: found.toSorted((a, b) => (a.record.id < b.record.id ? -1 : 1)), failed: [...failures.values()] };
  }

  async #pages(failures: Map<string, Failure>): Promise<Page[]> {
    const listed = await this.serve(() => this.#dependencies.store.schedules.listSchedules());
    const topics = [...new Set(listed.map(({ topic }) => topic))];
    const counts = await settleSome(topics, async (topic) => this.#partitions(topic));
    const countOf = new Map(topics.map((topic, i) => [topic, counts[i] as PromiseSettledResult<number>]));
    const pages: Page[] = [];
    const latest = new Lanes<{ page?: Page }>(() => ({}));
    for (const { id, topic, key } of listed) {
      const count = countOf.get(topic) as PromiseSettledResult<number>;
      if (count.status === 'rejected') {
        note(failures, topic, [id], count.reason);
        continue;
      }
      const index = partitionOf(key, count.value);
      const last = latest.get(topic, index);
      if (!last.page || last.page.ids.length === PAGE)
        pages.push((last.page = { partition: { topic, index }, ids: [] }));
      last.page.ids.push(id);
    }
    return pages;
  }

  async partitionOf({ topic, key }: { topic: string; key: string }): Promise<Partition> {
    return { topic, index: partitionOf(key, await this.#partitions(topic)) };
  }

  async #partitions(topic: string): Promise<number> {
    const { topics, clock, timeout } = this.#dependencies;
    return partitionsOf(topics, topic, clock, timeout);
  }

  /** Returns the time on the clock that decides about a partition, in whole milliseconds. */
  now(partition: Partition): number {
    return Math.round(this.#dependencies.store.now(partition));
  }

  /** @throws BrokerUnavailableError if it is not answered in time */
  serve<R>(operation: () => Promise<R>): Promise<R> {
    const { clock, timeout } = this.#dependencies;
    return serveWithin(clock, timeout, operation);
  }
}

/** Notes a failure. An internal bug is not reported as one, but thrown. */
function note(failures: Map<string, Failure>, topic: string, ids: readonly string[], error: unknown): void {
  if (!(error instanceof DelayQueueError)) throw error;
  const known = failures.get(topic);
  if (known) known.ids.push(...ids);
  else failures.set(topic, { topic, ids: [...ids], error });
}

/** Reads a found schedule. One that another program has written over counts as missing: it can be stored anew. */
export function readable(found: FoundSchedule | undefined): ScheduleRecord | undefined {
  if (!found) return undefined;
  try {
    return readSchedule(found);
  } catch (error) {
    if (error instanceof SerializationError) return undefined;
    throw error;
  }
}
