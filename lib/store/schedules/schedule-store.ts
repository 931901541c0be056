import { assertLength, assertNext } from '../calls/assert-times.js';
import { scanFields } from '../calls/hash-fields.js';
import { FleetFields } from '../calls/fleet-fields.js';
import { PartitionScripts } from '../calls/partition-scripts.js';
import { toScore } from '../calls/replies.js';
import type { Driver } from '../driver.interface.js';
import type { StoreKeys } from '../keys.js';
import { encodeColumns } from '../messages/publish.js';
import type { CallId, Partition } from '../partition.js';
import type { StoreOptions } from '../store-options.interface.js';
import { type DueSchedules, MAX_DUE_SCHEDULES, type ScheduleLook, dueSchedules } from './due-schedules.js';
import { type Occurrence, type OccurrenceResult, occurrenceResult } from './occurrence.js';
import {
  type FoundSchedule,
  type IndexedSchedule,
  type ScheduleName,
  type SchedulePlace,
  type ScheduleWrite,
  decodePlace,
  decodeSchedule,
  encodeContent,
  encodePlace,
} from './schedule-records.js';

/** Operations on schedules. */
export class ScheduleStore {
  readonly #driver: Driver;
  readonly #keys: StoreKeys;
  readonly #scripts: PartitionScripts;
  readonly #fields: FleetFields;

  constructor(options: StoreOptions) {
    this.#driver = options.driver;
    this.#keys = options.keys;
    this.#scripts = new PartitionScripts(options);
    this.#fields = new FleetFields(options);
  }

  /**
   * Enters a schedule into the list of all of them, unless it is there. It looks first: at a boot nearly all are there, and Redis remembers
   * each writing call for a while.
   *
   * @returns the place in the list
   */
  async indexSchedule({ id, ...place }: IndexedSchedule): Promise<SchedulePlace> {
    return (await this.findSchedule({ id })) ?? this.#index(id, place, null);
  }

  /** @param seen text that another program has left there; `null`: none */
  async #index(id: string, place: SchedulePlace, seen: string | null): Promise<SchedulePlace> {
    const change = { field: id, value: encodePlace(place), seen };
    const indexed = await this.#fields.replace(this.#keys.fleet.index, change, true);
    if (indexed.isSet) return place;
    return decodePlace(indexed.stored) ?? this.#index(id, place, indexed.stored);
  }

  async unindexSchedule({ id }: ScheduleName): Promise<void> {
    await this.#fields.remove(this.#keys.fleet.index, id);
  }

  /** Returns the place of a schedule according to the list. */
  async findSchedule({ id }: ScheduleName): Promise<SchedulePlace | undefined> {
    const { index } = this.#keys.fleet;
    return decodePlace(await this.#driver.call([index], (redis) => redis.hget(index, id)));
  }

  /** Returns all schedules of the list, in the order of their ids. */
  async listSchedules(): Promise<IndexedSchedule[]> {
    const fields = await scanFields(this.#driver, this.#keys.fleet.index, '*');
    const places = [...fields].flatMap(([id, text]): IndexedSchedule[] => {
      const place = decodePlace(text);
      return place ? [{ id, ...place }] : [];
    });
    return places.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** @param ids 1 to `MAX_BATCH` */
  async getSchedules(partition: Partition, ids: readonly string[]): Promise<(FoundSchedule | undefined)[]> {
    const { schedules, occurrences } = this.#keys.partition(partition);
    const [records, scores] = await this.#driver.call([schedules, occurrences], (redis) =>
      Promise.all([redis.hmget(schedules, ...ids), redis.zmscore(occurrences, ...ids)]),
    );
    return ids.map((id, i) => {
      const record = records[i];
      if (record === null || record === undefined) return undefined;
      const score = toScore(scores[i] ?? 'inf');
      return { ...decodeSchedule(id, record), nextAt: Number.isFinite(score) ? score : undefined };
    });
  }

  /** Writes a schedule if it is as it was seen, and signals the owner; returns whether it was written. */
  async putSchedule(partition: Partition, call: CallId, write: ScheduleWrite): Promise<boolean> {
    assertNext(write);
    const { id, expected, state, content, nextAt } = write;
    const given = {
      ...this.#scripts.named(partition, call),
      id,
      is_new: expected === undefined ? 1 : 0,
      expected: expected ?? '',
      state,
      rest: content ? encodeContent(content) : '',
      next_at: nextAt ?? 'inf',
    };
    const [written] = await this.#scripts.run('put-schedule', partition, given, content !== undefined);
    return written === 1;
  }

  /** Removes a schedule, and returns whether it was there. Its published messages stay. */
  async removeSchedule(partition: Partition, call: CallId, id: string): Promise<boolean> {
    const given = { ...this.#scripts.named(partition, call), id };
    const [removed] = await this.#scripts.run('remove-schedule', partition, given);
    return removed === 1;
  }

  /** Returns at most `MAX_DUE_SCHEDULES`, or 1 MiB of them. */
  async dueSchedules(partition: Partition, { ahead = 0, skip = 0 }: ScheduleLook = {}): Promise<DueSchedules> {
    const given = { limit: MAX_DUE_SCHEDULES, ahead, skip };
    return dueSchedules(await this.#scripts.run('due-schedules', partition, given));
  }

  /** Publishes an occurrence of a schedule and writes the schedule's new state: both, or neither. */
  async publishOccurrence(partition: Partition, call: CallId, occurrence: Occurrence): Promise<OccurrenceResult> {
    const { id, owner, expected, state, nextAt, storedId, dueAt, tags, order, unlessBusy } = occurrence;
    assertLength('An occurrence', dueAt);
    assertNext(occurrence);
    const given = {
      ...this.#scripts.named(partition, call),
      order_mode: order ?? '',
      columns: encodeColumns([{ storedId, due: { at: dueAt }, onDuplicate: 'ignore', tags }]),
      claimant: owner,
      schedule: id,
      expected,
      state,
      skipping: unlessBusy?.state ?? '',
      next_at: nextAt ?? 'inf',
      prefix: unlessBusy?.series.prefix ?? '',
      suffix: unlessBusy?.series.suffix ?? '',
      rest: [storedId],
    };
    return occurrenceResult(await this.#scripts.run('publish-occurrence', partition, given));
  }
}
