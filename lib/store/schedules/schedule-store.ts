import { assertLength, assertNext } from '../calls/assert-times.js';
import { scanFields } from '../calls/hash-fields.js';
import { NumberedCalls } from '../calls/numbered-calls.js';
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

/** The operations about schedules. */
export class ScheduleStore {
  readonly #driver: Driver;
  readonly #keys: StoreKeys;
  readonly #numbered = new NumberedCalls();

  constructor({ driver, keys }: StoreOptions) {
    this.#driver = driver;
    this.#keys = keys;
  }

  /**
   * Enters a schedule into the list of all of them, unless it is there. It looks first: at a boot nearly all are there, and Redis remembers
   * each call that writes for a while.
   *
   * @returns what is in the list
   */
  async indexSchedule({ id, ...place }: IndexedSchedule): Promise<SchedulePlace> {
    return (await this.findSchedule({ id })) ?? this.#index(id, place, undefined);
  }

  /** @param seen what another program has left there; `undefined`: nothing */
  async #index(id: string, place: SchedulePlace, seen: string | undefined): Promise<SchedulePlace> {
    const change = { value: encodePlace(place), replaces: seen ?? '', is_first: seen === undefined ? 1 : 0 };
    const given = { ...this.#changeOf(id), ...change };
    const [isIn, stored] = await this.#driver.run('replace-field', { record: this.#keys.fleet.index }, given, true);
    if (isIn === 1) return place;
    return decodePlace(stored as string | undefined) ?? this.#index(id, place, stored as string | undefined);
  }

  async unindexSchedule({ id }: ScheduleName): Promise<void> {
    await this.#driver.run('remove-field', { record: this.#keys.fleet.index }, this.#changeOf(id));
  }

  /** What a change of an entry of the list is known by. */
  #changeOf(id: string): { field: string; answered: string; sequence: number } {
    return { field: id, ...this.#numbered.next((caller) => this.#keys.answeredOfFleet(`${caller}:${id}`)) };
  }

  /** Where the list says that a schedule is kept. */
  async findSchedule({ id }: ScheduleName): Promise<SchedulePlace | undefined> {
    const { index } = this.#keys.fleet;
    return decodePlace(await this.#driver.call([index], (redis) => redis.hget(index, id)));
  }

  /** All schedules of the list, in the order of their ids. */
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

  /** Writes a schedule if it is as it was seen, and signals the owner; answers whether it was written. */
  async putSchedule(partition: Partition, { caller, sequence }: CallId, write: ScheduleWrite): Promise<boolean> {
    assertNext(write);
    const { id, expected, state, content, nextAt } = write;
    const given = {
      answered: this.#keys.answered(partition, caller),
      sequence,
      id,
      is_new: expected === undefined ? 1 : 0,
      expected: expected ?? '',
      state,
      rest: content ? encodeContent(content) : '',
      next_at: nextAt ?? 'inf',
    };
    const place = this.#keys.partition(partition);
    const [written] = await this.#driver.run('put-schedule', place, given, content !== undefined);
    return written === 1;
  }

  /** Answers whether it was there. What it has published stays. */
  async removeSchedule(partition: Partition, { caller, sequence }: CallId, id: string): Promise<boolean> {
    const given = { answered: this.#keys.answered(partition, caller), sequence, id };
    const [removed] = await this.#driver.run('remove-schedule', this.#keys.partition(partition), given);
    return removed === 1;
  }

  /** At most `MAX_DUE_SCHEDULES`, or 1 MiB of them. */
  async dueSchedules(partition: Partition, { ahead = 0, skip = 0 }: ScheduleLook = {}): Promise<DueSchedules> {
    const given = { limit: MAX_DUE_SCHEDULES, ahead, skip };
    return dueSchedules(await this.#driver.run('due-schedules', this.#keys.partition(partition), given));
  }

  /** Publishes an occurrence of a schedule and writes the schedule's new state: both, or neither. */
  async publishOccurrence(
    partition: Partition,
    { caller, sequence }: CallId,
    occurrence: Occurrence,
  ): Promise<OccurrenceResult> {
    const { id, owner, expected, state, nextAt, storedId, dueAt, tags, order, unlessBusy } = occurrence;
    assertLength('An occurrence', dueAt);
    assertNext(occurrence);
    const given = {
      answered: this.#keys.answered(partition, caller),
      sequence,
      order_mode: order ?? '',
      columns: encodeColumns([{ due: { at: dueAt }, onDuplicate: 'ignore', tags }]),
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
    return occurrenceResult(await this.#driver.run('publish-occurrence', this.#keys.partition(partition), given));
  }
}
