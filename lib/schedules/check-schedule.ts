import { describe } from '../checks/describe.js';
import {
  type Rules,
  asGiven,
  declared,
  described,
  duration,
  named,
  objectOf,
  oneOf,
  option,
  orElse,
} from '../checks/rules.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { assertId } from '../messages/message-ref.js';
import { encodeEnvelope } from '../messages/envelope.js';
import { ISO_TIME, MESSAGE_RULES } from '../messages/message-options.js';
import { toStored } from '../messages/serializer.js';
import { type TopicRef, checkedTopicName } from '../messages/topic.js';
import { optionalTime } from '../time/date.js';
import { assertTimeZone } from '../time/local-time.js';
import type { TopicSettings } from '../fleet/topic-settings.interface.js';
import { MIN_INTERVAL, Recurrence, type StoredRule } from './recurrence.js';
import type { ScheduledMessageOptions, ScheduleRule } from './schedule.interface.js';
import type { DefinedSchedule } from './schedule-record.js';

/** A schedule as given by callers. */
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
  /** @param anchor time from which the intervals count if there is no `startAt`, in epoch milliseconds */
  readonly rule: (anchor: number) => StoredRule;
  readonly envelope: string;
}

/** Longest id of a schedule, in characters: those of its messages are longer. */
const MAX_SCHEDULE_ID = 200;

/** Longest cron expression, in characters: one that names every second, minute, hour, day and month has some 450. */
const MAX_CRON = 1000;

const TIME = declared(
  named('Time', {
    anyOf: [ISO_TIME, { type: 'number' }],
    description: 'ISO 8601 with its zone, or epoch milliseconds.',
  }),
  (name, given: Date | number | undefined) => optionalTime(name, given),
);

const CRON = declared({ type: 'string' }, (name, given: unknown): string => {
  if (typeof given === 'string' && given.length <= MAX_CRON) return given.trim().replaceAll(/\s+/g, ' ');
  throw new InvalidArgumentError(
    `${name} must be a string of at most ${MAX_CRON} characters. Given: ${describe(given)}.`,
  );
});

const TIME_ZONE = declared({ type: 'string' }, (name, given: unknown): string => {
  assertTimeZone(name, given);
  return given;
});

/** Rules for the times of a schedule. */
export const SCHEDULE_RULES = {
  every: option(
    'Interval between two occurrences, at least 100 ms; or else there is a cron expression.',
    duration(MIN_INTERVAL),
  ),
  cron: option('A cron expression of five fields, or of six, the first of which are the seconds.', CRON),
  timeZone: option("The time zone of the expression, such as 'Europe/Berlin'; UTC if it is left out.", TIME_ZONE),
  startAt: option('No occurrence comes before this time; with an interval, it is the first one.', TIME),
  endAt: option('No occurrence comes after this time.', TIME),
  catchUp: described(
    "Which occurrences are published after an outage; 'latest' if it is left out.",
    orElse(oneOf('none', 'latest', 'all'), 'latest'),
  ),
  overlap: described(
    "Whether an occurrence is published while an earlier one waits, runs or retries ('allow'), or counts as missed ('skip'); 'allow' if it is left out.",
    orElse(oneOf('allow', 'skip'), 'allow'),
  ),
} satisfies Rules<ScheduleRule>;

const checkedMessageOptions = objectOf(MESSAGE_RULES);

const checkedOptions = objectOf({
  id: (_: string, given: unknown) => {
    assertScheduleId(given);
    return given;
  },
  topic: (_: string, given: TopicRef | undefined) => checkedTopicName(given as TopicRef),
  payload: orElse(asGiven<unknown>, undefined),
  options: orElse(
    (_: string, given: ScheduledMessageOptions) => checkedMessageOptions('The options of the schedule', given, ''),
    undefined,
  ),
  ...SCHEDULE_RULES,
} satisfies Rules<GivenSchedule>);

type CheckedOptions = ReturnType<typeof checkedOptions>;

/**
 * Checks a schedule and encodes its messages.
 *
 * @param now epoch milliseconds on the broker's clock
 * @throws InvalidArgumentError, SerializationError, PayloadTooLargeError
 */
export function checkSchedule(
  schedule: GivenSchedule,
  settingsOf: (topic: string) => Pick<TopicSettings, 'delivery' | 'serializer'>,
  now: number,
): CheckedSchedule {
  const used = checkedOptions('The schedule', schedule, '');
  const { id, topic, options, catchUp, overlap } = used;
  const { delivery, serializer } = settingsOf(topic);
  if (overlap === 'skip' && delivery === 'at-most-once') {
    throw new InvalidArgumentError(
      `overlap 'skip' has no meaning for topic '${topic}', which is delivered at most once: nobody knows of its messages whether they ` +
        `run. Leave it out, or deliver the topic at least once.`,
    );
  }
  const rule = checkedRule(schedule, used);
  // Throws if it never occurs.
  void new Recurrence(rule(now));
  const stored = toStored(topic, serializer, schedule.payload);
  const envelope = encodeEnvelope({ ...stored, publishedAt: now }, options ?? {});
  return { id, topic, key: options?.key ?? id, catchUp, overlap, rule, envelope };
}

/** @throws InvalidArgumentError if no schedule can have this id */
export function assertScheduleId(id: unknown): asserts id is string {
  assertId('id', id);
  if (id.length <= MAX_SCHEDULE_ID) return;
  throw new InvalidArgumentError(
    `The id of a schedule must be a string of 1 to ${MAX_SCHEDULE_ID} characters. Given: ${describe(id)}.`,
  );
}

/** @param used same options, checked */
function checkedRule(
  { timeZone, startAt, endAt, ...given }: ScheduleRule,
  { every, cron, ...used }: CheckedOptions,
): CheckedSchedule['rule'] {
  if ((every === undefined) === (cron === undefined)) {
    throw new InvalidArgumentError(
      `Give either every or cron. Given: every ${describe(given.every)}, cron ${describe(given.cron)}.`,
    );
  }
  const bounds = { startAt: used.startAt, endAt: used.endAt };
  if (bounds.startAt !== undefined && bounds.endAt !== undefined && bounds.startAt > bounds.endAt) {
    throw new InvalidArgumentError(
      `endAt must not be before startAt. Given: startAt ${describe(startAt)}, endAt ${describe(endAt)}.`,
    );
  }
  if (cron !== undefined) return () => ({ cron, timeZone: used.timeZone ?? 'UTC', ...bounds });
  if (timeZone !== undefined) {
    throw new InvalidArgumentError(
      `timeZone is for cron: an interval is as long everywhere. Given: ${describe(timeZone)}.`,
    );
  }
  return (anchor) => ({ every: every as number, anchor, ...bounds });
}
