import { Recurrence } from './recurrence.js';
import type { ScheduleRecord, ScheduleState } from './schedule-record.js';

/** How long before its time an occurrence is published, in milliseconds: as a message, it is on time then, however many have the same. */
export const AHEAD = 2000;

/** Where the intervals of a stored schedule count from; `undefined` if it has none. */
export function anchorOf(known: ScheduleRecord | undefined): number | undefined {
  return known && 'every' in known.rule ? known.rule.anchor : undefined;
}

/**
 * The state of a schedule whose rule counts from now on. It begins behind what the rule before it has published ahead of its time, as far as both
 * have that: the message is there already.
 */
export function startedState(recurrence: Recurrence, before: ScheduleRecord | undefined, now: number): ScheduleState {
  if (!before) return { paused: false, next: recurrence.from(now), last: undefined, missed: 0 };
  const { state } = before;
  if (state.paused) return state;
  const shared = Array.from(timesAhead(before, now)).findLast((time) => recurrence.has(time));
  const started = { ...state, last: shared ?? lastWithout(state, now) };
  return { ...started, next: firstFrom(recurrence, started, now) };
}

/** The state of a schedule that is paused. Occurrences that were published ahead of their time are taken back, and may come after all. */
export function pausedState(state: ScheduleState, now: number): ScheduleState {
  return { ...state, paused: true, next: undefined, last: lastWithout(state, now) };
}

/** The latest occurrence, if those are taken back that were published ahead of their time. */
function lastWithout({ last }: ScheduleState, now: number): number | undefined {
  return last !== undefined && isAhead(last, now) ? now : last;
}

/** Whether an occurrence was published ahead of its time; where the clock was set back, it has come. */
function isAhead(last: number, now: number): boolean {
  return last > now && last <= now + 2 * AHEAD;
}

/** No occurrence comes twice, even if the clock was set back. */
export function firstFrom(recurrence: Recurrence, { last }: ScheduleState, now: number): number | undefined {
  return recurrence.from(last === undefined ? now : Math.max(now, last + 1));
}

/** The occurrences that were published ahead of their time; of one that is paused, those that may have been, too, and were not taken back. */
export function* timesAhead(
  { rule, state: { paused, last = 0 } }: ScheduleRecord,
  now: number,
): Generator<number, void> {
  if (!paused && !isAhead(last, now)) return;
  const end = Math.max(paused ? now + AHEAD : 0, isAhead(last, now) ? last : 0);
  let recurrence: Recurrence;
  try {
    recurrence = Recurrence.of(rule);
  } catch {
    // This process cannot read the rule; another one can.
    if (isAhead(last, now)) yield last;
    return;
  }
  for (let time = recurrence.from(now); time !== undefined && time <= end; time = recurrence.after(time)) yield time;
}

/** The next occurrence from now on, also if it was published ahead of its time. */
export function upcoming(record: ScheduleRecord, now: number): number | undefined {
  const [ahead] = record.state.paused ? [] : timesAhead(record, now);
  return ahead ?? record.state.next;
}
