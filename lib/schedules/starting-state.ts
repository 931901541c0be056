import { Recurrence } from './recurrence.js';
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

/** The state of a schedule that is paused. Occurrences that were published ahead of their time are taken back, and may come after all. */
export function pausedState(state: ScheduleState, now: number): ScheduleState {
  return { ...state, paused: true, next: undefined, last: state.last && Math.min(state.last, now) };
}

/** No occurrence comes twice, even if the clock was set back. */
export function firstFrom(recurrence: Recurrence, { last }: ScheduleState, now: number): number | undefined {
  return recurrence.from(last === undefined ? now : Math.max(now, last + 1));
}

/** The occurrences that were published ahead of their time. */
export function timesAhead({ rule, state: { last = 0 } }: ScheduleRecord, now: number): readonly number[] {
  if (last <= now) return [];
  const times: number[] = [];
  try {
    const recurrence = Recurrence.of(rule);
    for (let time = recurrence.from(now); time !== undefined && time <= last; time = recurrence.after(time))
      times.push(time);
    return times;
  } catch {
    // This process cannot read the rule; another one can.
    return [last];
  }
}

/** The next occurrence from now on, also if it was published ahead of its time. */
export function upcoming({ rule, state }: ScheduleRecord, now: number): number | undefined {
  if (state.paused || (state.last ?? 0) <= now) return state.next;
  try {
    return Recurrence.of(rule).from(now);
  } catch {
    // This process cannot read the rule; another one can.
    return state.next;
  }
}
