import { assertLength, assertNext } from '../assert-times.js';
import {
  type CallId,
  type DueSchedules,
  type ScheduleLook,
  type FoundSchedule,
  type IndexedSchedule,
  MAX_DUE_SCHEDULES,
  type Occurrence,
  type OccurrenceResult,
  type Partition,
  type ScheduleName,
  type ScheduleOperations,
  type SchedulePlace,
  type ScheduleWrite,
} from '../broker.interface.js';
import type { Calls } from '../driver.interface.js';
import type { RedisKeys } from '../keys.js';
import { encodeTags } from '../records/script-arguments.js';
import { dueSchedules, occurrenceResult, toScore } from '../records/replies.js';
import { decodePlace, decodeSchedule, encodeContent, encodePlace } from '../records/schedule-records.js';
import { NumberedCalls } from './numbered-calls.js';
import type { OperationOptions } from './operation-options.interface.js';

/** About how many entries of the list of schedules one call brings. */
const ENTRIES_PER_CALL = 1000;

/** The operations about schedules. */
export class RedisSchedules implements ScheduleOperations {
  readonly #calls: Calls;
  readonly #keys: RedisKeys;
  readonly #numbered = new NumberedCalls();

  constructor({ calls, keys }: OperationOptions) {
    this.#calls = calls;
    this.#keys = keys;
  }

  async indexSchedule({ id, ...place }: IndexedSchedule): Promise<SchedulePlace> {
    return this.#index(id, place, undefined);
  }

  /** @param seen what another program has left there; `undefined`: nothing */
  async #index(id: string, place: SchedulePlace, seen: string | undefined): Promise<SchedulePlace> {
    const change = { value: encodePlace(place), replaces: seen ?? '', is_first: seen === undefined ? 1 : 0 };
    const given = { ...this.#changeOf(id), ...change };
    const [isIn, stored] = await this.#calls.run('replace-field', { record: this.#keys.fleet.index }, given, true);
    if (isIn === 1) return place;
    return decodePlace(stored as string | undefined) ?? this.#index(id, place, stored as string | undefined);
  }

  async unindexSchedule({ id }: ScheduleName): Promise<void> {
    await this.#calls.run('remove-field', { record: this.#keys.fleet.index }, this.#changeOf(id));
  }

  /** What a change of an entry of the list is known by. */
  #changeOf(id: string): { field: string; answered: string; sequence: number } {
    return { field: id, ...this.#numbered.next((caller) => this.#keys.answeredOfFleet(`${caller}:${id}`)) };
  }

  async findSchedule({ id }: ScheduleName): Promise<SchedulePlace | undefined> {
    const { index } = this.#keys.fleet;
    return decodePlace(await this.#calls.call([index], (redis) => redis.hget(index, id)));
  }

  async listSchedules(): Promise<IndexedSchedule[]> {
    const { index } = this.#keys.fleet;
    // A scan may answer a field twice.
    const places = new Map<string, SchedulePlace>();
    let cursor = '0';
    do {
      const from = cursor;
      const [next, fields] = await this.#calls.call([index], (redis) =>
        redis.hscan(index, from, 'COUNT', ENTRIES_PER_CALL),
      );
      for (let i = 0; i < fields.length; i += 2) {
        const place = decodePlace(fields[i + 1]);
        if (place) places.set(fields[i] as string, place);
      }
      cursor = next;
    } while (cursor !== '0');
    const ids = [...places.keys()].toSorted();
    return ids.map((id) => ({ id, ...(places.get(id) as SchedulePlace) }));
  }

  async getSchedules(partition: Partition, ids: readonly string[]): Promise<(FoundSchedule | undefined)[]> {
    const { schedules, occurrences } = this.#keys.partition(partition);
    const [records, scores] = await this.#calls.call([schedules, occurrences], (redis) =>
      Promise.all([redis.hmget(schedules, ...ids), redis.zmscore(occurrences, ...ids)]),
    );
    return ids.map((id, i) => {
      const record = records[i];
      if (record === null || record === undefined) return undefined;
      const score = toScore(scores[i] ?? 'inf');
      return { ...decodeSchedule(id, record), nextAt: Number.isFinite(score) ? score : undefined };
    });
  }

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
    const [written] = await this.#calls.run('put-schedule', place, given, content !== undefined);
    return written === 1;
  }

  async removeSchedule(partition: Partition, { caller, sequence }: CallId, id: string): Promise<boolean> {
    const given = { answered: this.#keys.answered(partition, caller), sequence, id };
    const [removed] = await this.#calls.run('remove-schedule', this.#keys.partition(partition), given);
    return removed === 1;
  }

  async dueSchedules(partition: Partition, { ahead = 0, skip = 0 }: ScheduleLook = {}): Promise<DueSchedules> {
    const given = { limit: MAX_DUE_SCHEDULES, ahead, skip };
    return dueSchedules(await this.#calls.run('due-schedules', this.#keys.partition(partition), given));
  }

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
      due_specs: dueAt,
      on_duplicates: 'i',
      max_waits: '',
      tag_lists: tags ? encodeTags([tags]) : '',
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
    return occurrenceResult(await this.#calls.run('publish-occurrence', this.#keys.partition(partition), given));
  }
}
