import type { Partition } from '../store/partition.js';
import { readablePart } from '../messages/readable-part.js';
import type { PayloadSerializer } from '../messages/serializer.js';
import { toDate } from '../time/date.js';
import type { Schedule } from './schedule.interface.js';
import type { ScheduleRecord } from './schedule-record.js';

/**
 * A stored schedule as applications see it.
 *
 * @param next its next occurrence, epoch milliseconds
 */
export function toSchedule(
  { id, rule, key, catchUp, overlap, declared, state, stored }: ScheduleRecord,
  { topic, index }: Partition,
  serializer: PayloadSerializer | undefined,
  next: number | undefined,
): Schedule {
  const { payload, headers } = readablePart(topic, serializer, stored.envelope);
  return {
    id,
    topic,
    partition: index,
    key,
    payload,
    headers,
    every: 'every' in rule ? rule.every : undefined,
    cron: 'cron' in rule ? rule.cron : undefined,
    timeZone: 'cron' in rule ? rule.timeZone : undefined,
    startAt: optionalDate(rule.startAt),
    endAt: optionalDate(rule.endAt),
    catchUp,
    overlap,
    paused: state.paused,
    declared,
    next: optionalDate(next),
    last: optionalDate(state.last),
    missed: state.missed,
  };
}

function optionalDate(time: number | undefined): Date | undefined {
  return time === undefined ? undefined : toDate(time);
}
