import type { ActionOptions } from '../audit/audit-log.js';
import type { PublishOptions } from '../messages/publish-options.interface.js';
import type { Duration } from '../time/duration.js';

/**
 * When a schedule publishes: either `every` so often, or at the times of a `cron` expression.
 *
 * @publicApi
 */
export interface ScheduleRule {
  /** Time from one occurrence to the next, at least 100 ms. */
  every?: Duration;
  /**
   * A cron expression of five fields (minute, hour, day of the month, month, day of the week) or of six, the first of which are
   * the seconds. Also `@hourly`, `@daily`, `@weekly`, `@monthly` and `@yearly`.
   */
  cron?: string;
  /** The time zone of `cron`, a name of the IANA database such as `'Europe/Berlin'`. @defaultValue 'UTC' */
  timeZone?: string;
  /**
   * No occurrence is before this time (a number is epoch milliseconds). With `every` it is the first one, and all others are whole
   * intervals later. @defaultValue with `every`: one interval after the schedule was first stored
   */
  startAt?: Date | number;
  /** No occurrence is after this time. @defaultValue it never ends */
  endAt?: Date | number;
  /**
   * What becomes of the occurrences of an outage, once somebody is there again to publish: none of them, only the latest, or all.
   * What is at most 20 s late, such as when a process has crashed, is published in any case. @defaultValue 'latest'
   */
  catchUp?: 'none' | 'latest' | 'all';
  /**
   * Whether an occurrence is published while an earlier one waits, runs or retries; one that is dead is over. With `'skip'` it counts
   * as missed. @defaultValue 'allow'
   */
  overlap?: 'allow' | 'skip';
}

/**
 * How the messages of a schedule are published. Their ids and due times are those of its occurrences.
 *
 * @publicApi
 */
export interface ScheduledMessageOptions extends Pick<
  PublishOptions,
  'attempts' | 'backoff' | 'timeout' | 'expireAfter' | 'headers' | 'tags'
> {
  /** The key of all its messages, which places them in a partition. It cannot be changed. @defaultValue the id of the schedule */
  key?: string;
}

/**
 * How `prune()` removes schedules.
 *
 * @publicApi
 */
export interface PruneOptions extends ActionOptions {
  /** Finds those that would be removed, and removes none. @defaultValue false */
  readonly dryRun?: boolean;
}

/**
 * A schedule as it is stored.
 *
 * @publicApi
 */
export interface Schedule<T = unknown> {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  /** What its messages carry, read from JSON by the serializer of the topic, if any. `undefined` if it cannot be read. */
  readonly payload: T;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly every: number | undefined;
  readonly cron: string | undefined;
  readonly timeZone: string | undefined;
  readonly startAt: Date | undefined;
  readonly endAt: Date | undefined;
  readonly catchUp: NonNullable<ScheduleRule['catchUp']>;
  readonly overlap: NonNullable<ScheduleRule['overlap']>;
  readonly paused: boolean;
  /** Whether a `@RecurringHandler()` declares it, so that `prune()` removes it once none does any more. */
  readonly declared: boolean;
  /** When its next occurrence is; `undefined` if it is paused, or has ended. */
  readonly next: Date | undefined;
  /** Its latest occurrence that was published; `undefined` before the first. */
  readonly last: Date | undefined;
  /**
   * How many occurrences were not published, because of an outage or since an earlier one was not over; one outage counts at most
   * 1,000 of a cron expression.
   */
  readonly missed: number;
}
