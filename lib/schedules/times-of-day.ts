import { Cron } from 'croner';
import { offsetAt } from '../time/local-time.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Occurrences of a day or of an hour that lie wholly in a time. */
interface WholeSpan {
  readonly times: number;
  /** Epoch milliseconds. */
  readonly end: number;
}

/** At which seconds, minutes and hours a cron expression occurs on a day on which it does and no clock is changed. */
export class TimesOfDay {
  /** Days first. In milliseconds, and how often, from the first one in each. */
  readonly #spans: readonly { readonly length: number; readonly first: number; readonly times: number }[];

  constructor(expression: string) {
    const fields = expression.split(' ').slice(0, -3);
    // A nickname such as @hourly has no fields.
    if (expression.startsWith('@')) {
      this.#spans = [];
      return;
    }
    const [hours, minutes, seconds = '0'] = fields.toReversed();
    const hour = matches(`0 0 ${hours}`, 24, HOUR);
    const minute = matches(`0 ${minutes} *`, 60, MINUTE);
    const second = matches(`${seconds} * *`, 60, SECOND);
    const inHour = { length: HOUR, first: minute.first + second.first, times: minute.times * second.times };
    this.#spans = [{ length: DAY, first: hour.first + inHour.first, times: hour.times * inHour.times }, inHour];
  }

  /**
   * The day or the hour that an occurrence is the first one of, if all of it lies before the end and no clock is changed that day.
   *
   * @param next an occurrence, epoch milliseconds, as is `last`
   */
  wholeSpan(next: number, last: number, timeZone: string): WholeSpan | undefined {
    const offset = offsetAt(next, timeZone);
    const beginOf = (length: number): number => Math.floor((next + offset) / length) * length - offset;
    const day = beginOf(DAY);
    if (offsetAt(day, timeZone) !== offset || offsetAt(day + DAY, timeZone) !== offset) return undefined;
    for (const { length, first, times } of this.#spans) {
      const begin = beginOf(length);
      if (next === begin + first && begin + length - 1 <= last) return { times, end: begin + length };
    }
    return undefined;
  }
}

/** How many of the values of a field match, and when the first of them is, in milliseconds from the begin of what it divides. */
function matches(fields: string, count: number, unit: number): { first: number; times: number } {
  const cron = new Cron(`${fields} * * *`, { timezone: 'UTC', mode: '6-part', paused: true });
  const values = Array.from({ length: count }, (_, i) => i * unit).filter((time) => cron.match(new Date(time)));
  return { first: values[0] ?? 0, times: values.length };
}
