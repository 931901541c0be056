import { describe } from '../checks/describe.js';
import { MAX_DELAY } from '../checks/limits.js';
import { assertOneOf, assertOptions } from '../checks/validate.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { assertId } from '../messages/assert-id.js';
import { assertHeaders } from '../messages/envelope.js';
import { toEnvelope } from '../messages/message-options.js';
import { toStored } from '../messages/serializer.js';
import { checkedTags } from '../messages/tags.js';
import { type TopicRef, checkedTopicName } from '../messages/topic.js';
import { optionalTime } from '../time/date.js';
import { parseDuration } from '../time/duration.js';
import { assertTimeZone } from '../time/local-time.js';
import type { TopicSettings } from '../fleet/topic-settings.interface.js';
import { MIN_INTERVAL, Recurrence, type StoredRule } from './recurrence.js';
import type { ScheduledMessageOptions, ScheduleRule } from './schedule.interface.js';
import type { DefinedSchedule } from './schedule-record.js';

/** A schedule as callers give it. */
export interface GivenSchedule extends ScheduleRule {
  readonly id: string;
  readonly topic: TopicRef;
  readonly payload: unknown;
  readonly options?: ScheduledMessageOptions | undefined;
}

/** A schedule that passed every check. */
export interface CheckedSchedule extends Omit<DefinedSchedule, 'declared' | 'rule'> {
  readonly id: string;
  readonly topic: string;
  /** @param anchor where the intervals count from if there is no `startAt`, epoch milliseconds */
  readonly rule: (anchor: number) => StoredRule;
  readonly envelope: string;
}

/** Longest id of a schedule: those of its messages are longer. */
const MAX_SCHEDULE_ID = 200;

/** Longest cron expression: one that names every second, minute, hour, day and month has some 450 characters. */
const MAX_CRON = 1000;

const RULE_OPTIONS = ['every', 'cron', 'timeZone', 'startAt', 'endAt', 'catchUp', 'overlap'] as const;
const SCHEDULE_OPTIONS = ['id', 'topic', 'payload', 'options', ...RULE_OPTIONS];
const MESSAGE_OPTIONS: readonly (keyof ScheduledMessageOptions)[] = [
  'key',
  'attempts',
  'backoff',
  'timeout',
  'expireAfter',
  'headers',
  'tags',
];

/**
 * Checks a schedule and encodes its messages.
 *
 * @param now the broker's clock, epoch milliseconds
 * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError
 */
export function checkSchedule(
  schedule: GivenSchedule,
  settingsOf: (topic: string) => Pick<TopicSettings, 'delivery' | 'serializer'>,
  now: number,
): CheckedSchedule {
  assertOptions('The schedule', schedule, SCHEDULE_OPTIONS);
  const { id, options = {}, catchUp = 'latest', overlap = 'allow' } = schedule;
  assertScheduleId(id);
  const topic = checkedTopicName(schedule.topic);
  assertOneOf('catchUp', catchUp, ['none', 'latest', 'all']);
  assertOneOf('overlap', overlap, ['allow', 'skip']);
  const { delivery, serializer } = settingsOf(topic);
  if (overlap === 'skip' && delivery === 'at-most-once') {
    throw new InvalidArgumentError(
      `overlap 'skip' has no meaning for topic '${topic}', which is delivered at most once: nobody knows of its messages whether they ` +
        `run. Leave it out, or deliver the topic at least once.`,
    );
  }
  assertOptions('The options of the schedule', options, MESSAGE_OPTIONS);
  const { key = id, headers, tags } = options;
  assertId('key', key);
  if (headers !== undefined) assertHeaders(headers);
  const rule = checkRule(schedule);
  // Finds out whether it has any time at which it occurs.
  void new Recurrence(rule(now));
  const envelope = toEnvelope(toStored(topic, serializer, schedule.payload), options, now, tags && checkedTags(tags));
  return { id, topic, key, catchUp, overlap, rule, envelope };
}

/** @throws InvalidArgumentError if no schedule can have this id */
export function assertScheduleId(id: unknown): asserts id is string {
  assertId('id', id);
  if (id.length <= MAX_SCHEDULE_ID) return;
  throw new InvalidArgumentError(
    `The id of a schedule must be a string of 1 to ${MAX_SCHEDULE_ID} characters. Given: ${describe(id)}.`,
  );
}

function checkRule({ every, cron, timeZone, startAt, endAt }: ScheduleRule): CheckedSchedule['rule'] {
  if ((every === undefined) === (cron === undefined)) {
    throw new InvalidArgumentError(
      `Give either every or cron. Given: every ${describe(every)}, cron ${describe(cron)}.`,
    );
  }
  const bounds = { startAt: optionalTime('startAt', startAt), endAt: optionalTime('endAt', endAt) };
  if (bounds.startAt !== undefined && bounds.endAt !== undefined && bounds.startAt > bounds.endAt) {
    throw new InvalidArgumentError(
      `endAt must not be before startAt. Given: startAt ${describe(startAt)}, endAt ${describe(endAt)}.`,
    );
  }
  if (every !== undefined) {
    if (timeZone !== undefined) {
      throw new InvalidArgumentError(
        `timeZone is for cron: an interval is as long everywhere. Given: ${describe(timeZone)}.`,
      );
    }
    const interval = parseDuration('every', every, { min: MIN_INTERVAL, max: MAX_DELAY });
    return (anchor) => ({ every: interval, anchor, ...bounds });
  }
  if (typeof cron !== 'string' || cron.length > MAX_CRON) {
    throw new InvalidArgumentError(
      `cron must be a string of at most ${MAX_CRON} characters. Given: ${describe(cron)}.`,
    );
  }
  const zone = timeZone ?? 'UTC';
  assertTimeZone('timeZone', zone);
  const expression = cron.trim().replaceAll(/\s+/g, ' ');
  return () => ({ cron: expression, timeZone: zone, ...bounds });
}
