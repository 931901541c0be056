import { assertInteger } from '../checks/validate.js';
import type { LastRun } from '../schedules/last-runs.js';
import { refusalOf } from '../http/refusal.js';
import type { ShownSchedule } from './redaction.js';
import type { Input, RouteContext } from './route.js';
import type { SeenSchedules } from './sees.js';

/** A schedule, and the outcome of its latest occurrence, if it has one. */
export interface ScheduleLine extends ShownSchedule {
  readonly lastRun: LastRun | undefined;
}

/** A topic whose schedules cannot all be read now. */
export interface FailedSchedules {
  readonly topic: string;
  readonly ids: readonly string[];
  readonly code: string;
  readonly message: string;
}

export interface ScheduleList {
  readonly schedules: readonly ScheduleLine[];
  /** Number of schedules. */
  readonly total: number;
  readonly failed: readonly FailedSchedules[];
}

/** Default number of listed schedules. */
const DEFAULT_COUNT = 50;

/** Longest time to keep a look, per schedule that it has asked for, in milliseconds: two hundred times what one takes a slow Redis. */
const KEPT_A_SCHEDULE = 4;

/** Lists the first schedules that the viewer sees. Only for these it asks for the outcomes of their occurrences. */
export async function listSchedules(
  { queues: { schedules }, looks }: RouteContext,
  query: Input,
  { sees, shown: shownOf }: SeenSchedules,
): Promise<ScheduleList> {
  const count = query.optionalNumber('count') ?? DEFAULT_COUNT;
  assertInteger('count', count, { min: 1, max: Number.MAX_SAFE_INTEGER });
  const all = await looks.take(
    'schedules',
    () => schedules.listKnown(),
    (listed) => KEPT_A_SCHEDULE * listed.schedules.length,
  );
  const seen = all.schedules.filter(({ topic }) => sees(topic));
  const shown = seen.slice(0, count);
  const runs = await looks.take(
    `runs of ${JSON.stringify(shown.map(({ id, last }) => [id, last]))}`,
    () => schedules.lastRuns(shown),
    ({ length }) => KEPT_A_SCHEDULE * length,
  );
  return {
    schedules: shown.map((schedule, i) => ({ ...shownOf(schedule), lastRun: runs[i] })),
    total: seen.length,
    failed: all.failed.flatMap(({ topic, ids, error }) => {
      const refusal = sees(topic) ? refusalOf(error) : undefined;
      return refusal ? [{ topic, ids, code: refusal.code, message: refusal.message }] : [];
    }),
  };
}
