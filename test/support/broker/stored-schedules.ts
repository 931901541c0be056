import type { CallId } from '../../../lib/store/partition.js';
import type { Occurrence, OccurrenceResult } from '../../../lib/store/schedules/occurrence.js';
import type { ScheduleWrite } from '../../../lib/store/schedules/schedule-records.js';
import type { BrokerBed } from './broker-bed.js';

/** What has schedules, and who owns the partition. */
export type ScheduleBed = Pick<BrokerBed, 'broker' | 'partition' | 'nextCall' | 'owner'>;

export const CONTENT = {
  definition: '{"every":1000}',
  envelope: '[1767268800000,{"of":"yesterday"},{"h":{"trace":"7f"}}]',
};
export const SERIES = { prefix: 'tick@', suffix: '\0tick' };

let revision = 0;

/** A state that no other write has. */
export function state(next: number | string = 5): string {
  return `r${++revision} active ${next} - 0`;
}

/** A new schedule. */
export function newSchedule(
  id: string,
  nextAt: number | undefined,
  fields: Partial<ScheduleWrite> = {},
): ScheduleWrite {
  return { id, expected: undefined, state: state(nextAt ?? '-'), content: CONTENT, nextAt, ...fields };
}

export async function put(bed: ScheduleBed, write: ScheduleWrite, call = bed.nextCall()): Promise<boolean> {
  return bed.broker.schedules.putSchedule(bed.partition, call, write);
}

/** Stores a schedule that is due, and answers its state. */
export async function due(bed: ScheduleBed, id = 'tick', nextAt = 5): Promise<string> {
  const write = newSchedule(id, nextAt);
  if (!(await put(bed, write))) throw new Error(`schedule ${id} exists already`);
  return write.state;
}

export async function stored(bed: ScheduleBed, id = 'tick') {
  const [schedule] = await bed.broker.schedules.getSchedules(bed.partition, [id]);
  return schedule;
}

export function storedIdAt(time: number): string {
  return `tick@${Number.isNaN(time) ? 'never' : new Date(time).toISOString()}\0tick`;
}

/** Publishes an occurrence as the owner. */
export async function publish(
  bed: ScheduleBed,
  { call = bed.nextCall(), ...given }: Partial<Occurrence> & Pick<Occurrence, 'expected'> & { call?: CallId },
): Promise<OccurrenceResult> {
  const { dueAt = 1000 } = given;
  const occurrence: Occurrence = {
    id: 'tick',
    owner: bed.owner,
    state: state(dueAt + 1000),
    nextAt: dueAt + 1000,
    storedId: storedIdAt(dueAt),
    dueAt,
    ...given,
  };
  return bed.broker.schedules.publishOccurrence(bed.partition, call, occurrence);
}

/** Tries to publish the next occurrence while an earlier one may not be over, and tells what happened. */
export async function publishUnlessBusy(bed: ScheduleBed, dueAt: number): Promise<string> {
  const { state: expected = '' } = (await stored(bed)) ?? {};
  const unlessBusy = { state: state(dueAt + 1000), series: SERIES };
  const { status } = await publish(bed, { expected, dueAt, unlessBusy });
  const now = await stored(bed);
  if (status === 'skipped' && (now?.state !== unlessBusy.state || now.nextAt !== dueAt + 1000)) {
    throw new Error(`the schedule has not moved on: ${JSON.stringify(now)}`);
  }
  return status;
}
