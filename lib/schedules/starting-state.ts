import { Recurrence } from './recurrence.js';
import type { ScheduleRecord, ScheduleState } from './schedule-record.js';

/**
 * Time by which an occurrence is published ahead, in milliseconds: its message is then on time, however many occurrences share that time.
 */
export const AHEAD = 2000;

/** Returns the time from which the intervals of a stored schedule count; `undefined` if it has none. */
export function anchorOf(known: ScheduleRecord | undefined): number | undefined {
  return known && 'every' in known.rule ? known.rule.anchor : undefined;
}

/**
 * Returns the state of a schedule whose rule applies from now on. It starts after the occurrences that the earlier rule has published ahead
 * of their time and that both rules have: their messages exist already.
 */
export function startedState(recurrence: Recurrence, before: ScheduleRecord | undefined, now: number): ScheduleState {
  if (!before) return { paused: false, next: recurrence.from(now), last: undefined, missed: 0 };
  const { state } = before;
  if (state.paused) return state;
  const shared = Array.from(timesAhead(before, now)).findLast((time) => recurrence.has(time));
  const started = { ...state, last: shared ?? lastWithout(state, now) };
  return { ...started, next: firstFrom(recurrence, started, now) };
}

/** Returns the state of a paused schedule. Occurrences that were published ahead of their time are taken back, and can still come later. */
export function pausedState(state: ScheduleState, now: number): ScheduleState {
  return { ...state, paused: true, next: undefined, last: lastWithout(state, now) };
}

/** Returns the latest occurrence without those that were published ahead of their time and are taken back. */
function lastWithout({ last }: ScheduleState, now: number): number | undefined {
  return last !== undefined && isAhead(last, now) ? now : last;
}

/** Whether an occurrence was published ahead of its time; one further ahead has already come, before the clock was set back. */
function isAhead(last: number, now: number): boolean {
  return last > now && last <= now + 2 * AHEAD;
}

/** No occurrence comes twice, even if the clock was set back. */
export function firstFrom(recurrence: Recurrence, { last }: ScheduleState, now: number): number | undefined {
  return recurrence.from(last === undefined ? now : Math.max(now, last + 1));
}

/**
 * Yields the occurrences that were published ahead of their time; for a paused schedule, also those that may have been and were not taken
 * back.
 */
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

/** Returns the next occurrence from now on, including one that was published ahead of its time. */
export function upcoming(record: ScheduleRecord, now: number): number | undefined {
  const [ahead] = record.state.paused ? [] : timesAhead(record, now);
  return ahead ?? record.state.next;
}
