import type { Recurrence } from './recurrence.js';
import type { ScheduleRecord, ScheduleState } from './schedule-record.js';

/** Where the intervals of a stored schedule count from; `undefined` if it has none. */
export function anchorOf(known: ScheduleRecord | undefined): number | undefined {
  return known && 'every' in known.rule ? known.rule.anchor : undefined;
}

/** The state of a schedule whose rule counts from now on. */
export function startedState(recurrence: Recurrence, before: ScheduleState | undefined, now: number): ScheduleState {
  const state = before ?? { paused: false, next: undefined, last: undefined, missed: 0 };
  return { ...state, next: state.paused ? undefined : firstFrom(recurrence, state, now) };
}

/**
 * Whether a schedule has no next occurrence although it is not paused and its rule has one: the process that was to publish it could not
 * read it, and has set it aside.
 */
export function standsStill(recurrence: Recurrence, state: ScheduleState, now: number): boolean {
  return !state.paused && state.next === undefined && firstFrom(recurrence, state, now) !== undefined;
}

/** No occurrence comes twice, even if the clock was set back. */
function firstFrom(recurrence: Recurrence, { last }: ScheduleState, now: number): number | undefined {
  return recurrence.from(last === undefined ? now : Math.max(now, last + 1));
}
