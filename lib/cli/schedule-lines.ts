import type { Schedule } from '../index.js';
import type { Paint } from './paint.js';
import { type Column, pairs } from './table.js';
import { shown, shownNumber, shownValue, told } from './text.js';
import { relative, shownDuration, shownTime } from './times.js';

/** A line of a list for each schedule. */
export function scheduleColumns(now: number, paint: Paint): Column<Schedule>[] {
  return [
    { title: 'ID', cell: ({ id }) => shown(id) },
    { title: 'RULE', cell: ruleOf },
    {
      title: 'NEXT',
      cell: (schedule) => (schedule.next ? relative(schedule.next, now) : stopOf(schedule)),
      paint: (text, { paused }) => (paused ? paint('yellow', text) : text),
    },
    { title: 'LAST', cell: ({ last }) => (last ? relative(last, now) : '-') },
    { title: 'MISSED', cell: ({ missed }) => shownNumber(missed), align: 'right' },
    { title: 'TOPIC', cell: ({ topic }) => topic },
  ];
}

/** All that is known of a schedule. */
export function scheduleLines(schedule: Schedule, now: number, paint: Paint): string[] {
  const { id, topic, partition, key, headers, payload, catchUp, overlap, next, last, missed, declared } = schedule;
  const time = (at: Date): string => shownTime(at, now);
  return pairs(
    [
      ['id', shown(id)],
      ['topic', `${topic}, partition ${partition}`],
      ['key', shown(key)],
      ['rule', ruleOf(schedule)],
      ['starts', told(schedule.startAt, time)],
      ['ends', told(schedule.endAt, time)],
      ['next', next ? time(next) : stopOf(schedule)],
      ['last', shownTime(last, now)],
      ['missed', shownNumber(missed)],
      ['catch up', catchUp],
      ['overlap', overlap],
      ['declared', declared ? 'by a @RecurringHandler()' : 'no'],
      ['headers', shownValue(headers)],
      ['payload', shownValue(payload)],
    ],
    paint,
  );
}

function ruleOf({ every, cron, timeZone }: Schedule): string {
  return every === undefined ? shown(`${cron} ${timeZone}`) : `every ${shownDuration(every)}`;
}

/** Why it has no next occurrence. */
function stopOf({ paused }: Schedule): string {
  return paused ? 'paused' : 'ended';
}
