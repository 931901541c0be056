import { Cron } from 'croner';
import { describe } from '../checks/describe.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { assertTimeZone, offsetAt } from '../time/local-time.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Occurrences of a day or an hour that lies wholly in a range. */
interface WholeSpan {
  readonly times: number;
  /** End of the day or hour, in epoch milliseconds. */
  readonly end: number;
}

/** Hours, minutes and seconds at which a cron expression occurs, on a day when it does and the clocks do not change. */
class TimesOfDay {
  /** Spans, the day first: length and first occurrence in milliseconds, and number of occurrences. */
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
   * Returns the day or the hour whose first occurrence this is, if it ends by `last` and the clocks do not change that day.
   *
   * @param next an occurrence; like `last`, in epoch milliseconds
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

/**
 * Returns how many values of a field match, and the first of them in milliseconds from the start of the day, hour or minute that they
 * divide.
 */
function matches(fields: string, count: number, unit: number): { first: number; times: number } {
  const cron = new Cron(`${fields} * * *`, { timezone: 'UTC', mode: '6-part', paused: true });
  const values = Array.from({ length: count }, (_, i) => i * unit).filter((time) => cron.match(new Date(time)));
  return { first: values[0] ?? 0, times: values.length };
}

/** Rule for the times at which a schedule publishes. Times are epoch milliseconds. */
export type StoredRule = {
  readonly startAt: number | undefined;
  readonly endAt: number | undefined;
} & (
  | {
      /** Interval in milliseconds. */
      readonly every: number;
      /** Time when the schedule was first stored; the intervals count from there if there is no `startAt`. */
      readonly anchor: number;
    }
  | { readonly cron: string; readonly timeZone: string }
);

/** Shortest time from one occurrence to the next, in milliseconds. */
export const MIN_INTERVAL = 100;

/** Most occurrences of a cron expression that are counted one by one. */
export const MOST_COUNTED = 1000;

/** Most rules that are remembered: reading one takes longer than using it. */
const MOST_KNOWN = 1000;

/** Computes the times at which a schedule publishes. */
export class Recurrence {
  /** Known recurrences by the text of their rules. */
  static readonly #known = new Map<string, Recurrence>();

  /**
   * Returns the recurrence of a stored rule.
   *
   * @throws InvalidArgumentError if this machine does not know the time zone, or the cron expression cannot be read, or has no time
   */
  static of(rule: StoredRule): Recurrence {
    const text = JSON.stringify(rule);
    const known = Recurrence.#known.get(text);
    if (known) return known;
    const recurrence = new Recurrence(rule);
    if (Recurrence.#known.size >= MOST_KNOWN) Recurrence.#known.clear();
    Recurrence.#known.set(text, recurrence);
    return recurrence;
  }

  readonly #rule: StoredRule;
  readonly #cron: Cron | undefined;
  #times: TimesOfDay | undefined;

  /** @throws InvalidArgumentError if this machine does not know the time zone, or the cron expression cannot be read, or has no time */
  constructor(rule: StoredRule) {
    this.#rule = rule;
    this.#cron = 'cron' in rule ? readCron(rule.cron, rule.timeZone) : undefined;
  }

  /** Returns the first occurrence at this time or later. */
  from(time: number): number | undefined {
    const { startAt, endAt } = this.#rule;
    const next = this.#from(Math.max(time, startAt ?? time));
    return next === undefined || next > (endAt ?? Infinity) ? undefined : next;
  }

  /** Returns the first occurrence after this time. */
  after(time: number): number | undefined {
    return this.from(Math.floor(time) + 1);
  }

  /** Whether this is the time of an occurrence. */
  has(time: number): boolean {
    return this.from(time) === time;
  }

  /**
   * Returns the last occurrence up to `until`.
   * @param first an occurrence that is not after `until`
   */
  lastUntil(first: number, until: number): number {
    if ('every' in this.#rule) {
      const { every, endAt = Infinity } = this.#rule;
      return first + Math.floor((Math.min(until, endAt) - first) / every) * every;
    }
    const { endAt = Infinity } = this.#rule;
    const [last] = this.#cron?.previousRuns(1, new Date(Math.min(until, endAt) + 1)) ?? [];
    return Math.max(first, last?.getTime() ?? first);
  }

  /** Returns the number of occurrences from one to another, both included; for a cron expression at most {@link MOST_COUNTED}. */
  count(first: number, last: number): number {
    if ('every' in this.#rule) return Math.round((last - first) / this.#rule.every) + 1;
    this.#times ??= new TimesOfDay(this.#rule.cron);
    let count = 0;
    // Whole days and hours in one step: one by one, the minutes of a night would take a tenth of a second.
    for (let next: number | undefined = first; next !== undefined && next <= last && count < MOST_COUNTED;) {
      const whole = this.#times.wholeSpan(next, last, this.#rule.timeZone);
      count += whole?.times ?? 1;
      next = this.from(whole?.end ?? next + 1);
    }
    return Math.min(count, MOST_COUNTED);
  }

  #from(time: number): number | undefined {
    if (this.#cron) return this.#cron.nextRun(new Date(Math.ceil(time) - 1))?.getTime();
    const { every, anchor, startAt } = this.#rule as Extract<StoredRule, { every: number }>;
    const first = startAt ?? anchor + every;
    return first + Math.max(0, Math.ceil((time - first) / every)) * every;
  }
}

/** Five or six fields, or a nickname; croner accepts other texts, too. */
const CRON = /^(?:@\w+|\S+(?: \S+){4,5})$/;

/** Returns croner's reason; croner counts days and months from 0. */
function reasonOf({ message }: Error): string {
  return message
    .replace(/^CronPattern: /, '')
    .replace(
      /^(Invalid value for (?:day|month): )(-?\d+)$/,
      (_, text: string, value: string) => `${text}${Number(value) + 1}`,
    );
}

function readCron(expression: string, timeZone: string): Cron {
  assertTimeZone('timeZone', timeZone);
  try {
    if (!CRON.test(expression)) throw new Error('It has another number of fields.');
    const cron = new Cron(expression, {
      timezone: timeZone,
      mode: '5-or-6-parts',
      // Like Vixie cron: an expression without `*` occurs once a day at each of its times, even when the clocks change.
      fixedTimeRule: 'no-wildcard',
      paused: true,
    });
    if (cron.nextRun()) return cron;
  } catch (error) {
    throw new InvalidArgumentError(
      `cron must be a cron expression of five or six fields, such as '0 6 * * *' (minute, hour, day of the month, month, day ` +
        `of the week) or '*/10 * * * * *' (seconds first). Given: ${describe(expression)}: ${reasonOf(error as Error)}`,
      { cause: error },
    );
  }
  throw new InvalidArgumentError(`cron has no time at which it occurs. Given: ${describe(expression)}.`);
}
