import type { ActionOptions } from '../events/audit-log.js';
import type { PublishOptions } from '../messages/publish-options.interface.js';
import type { Duration } from '../time/duration.js';

/**
 * Times at which a schedule publishes: at an interval (`every`), or by a `cron` expression.
 *
 * @publicApi
 */
export interface ScheduleRule {
  /** Interval between two occurrences, at least 100 ms. */
  every?: Duration;
  /**
   * A cron expression with five fields (minute, hour, day of the month, month, day of the week), or six with seconds first. Also
   * `@hourly`, `@daily`, `@weekly`, `@monthly` and `@yearly`. At most 1,000 characters.
   */
  cron?: string;
  /** Time zone of `cron`, an IANA name such as `'Europe/Berlin'`. @defaultValue 'UTC' */
  timeZone?: string;
  /**
   * No occurrence comes before this time (a number is epoch milliseconds). With `every`, this is the first occurrence, and all others
   * follow at whole intervals. @defaultValue with `every`: one interval after the schedule was first stored
   */
  startAt?: Date | number;
  /** No occurrence comes after this time. @defaultValue it never ends */
  endAt?: Date | number;
  /**
   * Occurrences to publish after an outage: none of them, only the latest, or all. An occurrence that is at most 20 s late, such as after
   * the crash of a process, is always published. @defaultValue 'latest'
   */
  catchUp?: 'none' | 'latest' | 'all';
  /**
   * Whether to publish an occurrence while an earlier one waits, runs or retries; a dead letter doesn't count. With `'skip'`, the
   * occurrence counts as missed. @defaultValue 'allow'
   */
  overlap?: 'allow' | 'skip';
}

/**
 * Options of the messages of a schedule. Their ids and due times follow from its occurrences.
 *
 * @publicApi
 */
export interface ScheduledMessageOptions extends Pick<
  PublishOptions,
  'attempts' | 'backoff' | 'timeout' | 'expireAfter' | 'headers' | 'tags'
> {
  /** Key of all its messages, which determines their partition. You can't change it later. @defaultValue the id of the schedule */
  key?: string;
}

/**
 * Options of `prune()`.
 *
 * @publicApi
 */
export interface PruneOptions extends ActionOptions {
  /** Only finds the schedules that would be removed. @defaultValue false */
  readonly dryRun?: boolean;
}

/**
 * A stored schedule.
 *
 * @publicApi
 */
export interface Schedule<T = unknown> {
  /** Id of the schedule. */
  readonly id: string;
  /** Topic of its messages. */
  readonly topic: string;
  /** Partition of its messages in the topic. */
  readonly partition: number;
  /** Key of its messages; the id if it was stored without one. */
  readonly key: string;
  /** Payload of its messages, read with the topic's serializer, if any. `undefined` if it can't be read. */
  readonly payload: T;
  /** Headers of its messages. */
  readonly headers: Readonly<Record<string, string>>;
  /** Interval in milliseconds, if it has no cron expression. */
  readonly every: number | undefined;
  /** Cron expression, if it has no interval. */
  readonly cron: string | undefined;
  /** Time zone of the expression. */
  readonly timeZone: string | undefined;
  /** No occurrence comes before this time. */
  readonly startAt: Date | undefined;
  /** No occurrence comes after this time. */
  readonly endAt: Date | undefined;
  /** Occurrences that are published after an outage. */
  readonly catchUp: NonNullable<ScheduleRule['catchUp']>;
  /** Whether an occurrence is published while an earlier one waits, runs or retries. */
  readonly overlap: NonNullable<ScheduleRule['overlap']>;
  /** Whether it publishes nothing until it is resumed. */
  readonly paused: boolean;
  /**
   * Whether a handler of a Nest application declares it. Once no handler does, it can be pruned. @see RecurringHandler,
   * DelayQueueSchedules.prune
   */
  readonly declared: boolean;
  /** Time of its next occurrence; `undefined` if it is paused or has ended. */
  readonly next: Date | undefined;
  /** Latest occurrence that was published; `undefined` before the first. */
  readonly last: Date | undefined;
  /**
   * Number of occurrences that were not published, because of an outage or because an earlier one was not over. For a cron expression, one
   * outage counts as at most 1,000.
   */
  readonly missed: number;
}
