import { type HistorySettings, MAX_SPANS, MINUTE } from '../store/records/process-records.js';
import { describe } from '../checks/describe.js';
import { isPlainObject } from '../checks/kinds.js';
import { assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { parseDuration } from '../time/duration.js';

const HOUR = 60 * MINUTE;
const YEAR = 365 * 24 * HOUR;

/** Lengths of spans that people can read off a chart, in minutes. */
const SPANS = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440, 2880, 5760];

/** @throws InvalidArgumentError */
export function resolveHistory(history: unknown): HistorySettings {
  if (!isPlainObject(history)) {
    throw new InvalidArgumentError(`history must be { keep }. Given: ${describe(history)}.`);
  }
  assertOptions('history', history, ['keep']);
  const keep = parseDuration('history.keep', history['keep'], { min: HOUR, max: YEAR });
  // The longest is long enough for a year.
  const span = SPANS.find((minutes) => keep <= (MAX_SPANS - 1) * minutes * MINUTE) as number;
  return { span, keep };
}
