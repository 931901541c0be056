import { describe } from '../checks/describe.js';
import { isPlainObject } from '../checks/kinds.js';
import { MAX_CONSUMER_LENGTH } from '../checks/limits.js';
import {
  type AnyRules,
  type Rule,
  type Rules,
  declared,
  described,
  duration,
  integer,
  listOf,
  named,
  objectOf,
  oneOf,
  option,
  schemaOf,
  text,
} from '../checks/rules.js';
import type { PublishOptions, ReceiveOptions, ScheduledMessageOptions, ScheduleRule } from '../index.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import { DELIVER_AT, MESSAGE_RULES, PUBLISH_RULES } from '../messages/message-options.js';
import { SCHEDULE_RULES } from '../schedules/check-schedule.js';
import { MAX_BATCH } from '../store/partition.js';
import type { Duration } from '../time/duration.js';
import { isoToEpoch, TIME_FORMS } from '../time/date.js';
import type { LocalTime } from '../time/local-time.js';
import { MAX_MANY, MAX_WAIT } from './limits.js';

/** Makes a rule that checks an option and passes it on as given: the library converts it to the value in use. */
function passed<Given>(rule: Rule<never, unknown>): Rule<unknown, Given> {
  const check = (name: string, given: unknown): Given => {
    rule(name, given as never);
    return given as Given;
  };
  return Object.assign(check, { schema: rule.schema, isOptional: rule.isOptional });
}

type Passed<Options> = { readonly [Option in keyof Options]-?: Rule<unknown, Options[Option] | undefined> };

function allPassed<Options>(rules: AnyRules): Passed<Options> {
  return Object.fromEntries(Object.entries(rules).map(([name, rule]) => [name, passed(rule)])) as Passed<Options>;
}

const DUE_FORMS = `${TIME_FORMS}, or { local, timeZone }`;

/** Makes the same of a time, which can also be a string in JSON. */
function timeOf<Time>(rule: Rule<never, unknown>, forms = TIME_FORMS): Rule<unknown, Time | number> {
  const check = (name: string, given: unknown): Time | number => {
    const time = typeof given === 'string' ? isoToEpoch(given) : given;
    const isOne = typeof time === 'number' || (forms === DUE_FORMS && isPlainObject(time));
    if (!isOne && given !== undefined) {
      throw new InvalidArgumentError(`${name} must be ${forms}. Given: ${describe(given)}.`);
    }
    rule(name, time as never);
    return time as Time | number;
  };
  return Object.assign(check, { schema: rule.schema, isOptional: rule.isOptional });
}

/** Accepts one of two objects: the other one if it has this property. */
function either<One, Other>(
  one: Rule<object, One>,
  property: string,
  other: Rule<object, Other>,
): Rule<object, One | Other> {
  return declared({ anyOf: [one.schema, other.schema] }, (name, given) =>
    isPlainObject(given) && Object.hasOwn(given, property) ? other(name, given) : one(name, given),
  );
}

/** Makes the rule of an object that the document lists under this name. */
function body<R extends AnyRules>(name: string, meaning: string, rules: R) {
  return objectOf(rules, named(name, { ...schemaOf(rules), description: meaning }));
}

const PAYLOAD = declared({}, (name, given: unknown): unknown => {
  if (given === undefined) throw new InvalidArgumentError(`${name} is missing.`);
  return given;
});

export const NewMessage = body('NewMessage', 'A message to publish. What is left out is as its topic has it.', {
  payload: described('Any JSON; with its headers at most 1 MiB.', PAYLOAD),
  ...allPassed<PublishOptions>(PUBLISH_RULES),
  deliverAt: timeOf<LocalTime | undefined>(PUBLISH_RULES.deliverAt, DUE_FORMS),
});

export type NewMessage = ReturnType<typeof NewMessage>;

const HandlerError = body('HandlerError', 'What a handler has failed with.', {
  name: described('Name of its class.', text()),
  message: described('What it says.', text()),
  stack: option('Where it was thrown.', text()),
});

const RECEIPT = described('What a received message has.', text());

const Settlement = body('Settlement', 'What is to become of a received message.', {
  receipt: RECEIPT,
  outcome: described(
    "What is to become of the message. 'ack': it is handled. 'retry': the attempt has failed; it comes again, or is a dead letter after its last attempt. 'dead': it becomes a dead letter at once. 'release': it comes again, and spends no attempt.",
    oneOf('ack', 'retry', 'dead', 'release'),
  ),
  delay: option(
    'Of a retry or a release: time until it comes again. If it is left out, a retry comes by its backoff, and what is released at once.',
    duration(0),
  ),
  reason: option('Of a retry or a dead letter: why. It is kept with the message.', text()),
  error: option(
    'In place of a reason: what was thrown. It is kept as that of a handler in Node.js, with texts of up to 4,096 characters.',
    HandlerError,
  ),
});

export type Settlement = ReturnType<typeof Settlement>;

const Extension = body('Extension', 'A lease that is to last for longer.', {
  receipt: RECEIPT,
  lease: described('For how long from now the message is yours, at least 1 s.', duration(0)),
});

export type Extension = ReturnType<typeof Extension>;

function many<Given, Value>(one: Rule<Given, Value>, of: string): Rule<unknown, readonly Value[]> {
  return described(`1 to ${MAX_MANY}.`, listOf(one, { of, min: 1, max: MAX_MANY }));
}

export const PublishBody = either(
  NewMessage,
  'messages',
  body('NewMessages', 'Several messages to publish.', { messages: many(NewMessage, 'messages') }),
);

export const SettleBody = either(
  Settlement,
  'settlements',
  body('Settlements', 'What is to become of several received messages.', {
    settlements: many(Settlement, 'settlements'),
  }),
);

export const ExtendBody = either(
  Extension,
  'extensions',
  body('Extensions', 'Several leases that are to last for longer.', { extensions: many(Extension, 'extensions') }),
);

const RECEIVE_RULES = {
  max: option(`Most messages, 1 to ${MAX_BATCH}; 1 if it is left out.`, integer(1, MAX_BATCH)),
  wait: option(
    `Longest time until the answer if nothing is due, at most ${MAX_WAIT / 1000} s; 0 if it is left out.`,
    duration(0, MAX_WAIT),
  ),
  lease: option(
    'For how long the messages are yours, at least 1 s; that of the gateway if it is left out. With 0 they are delivered at most once: gone ' +
      'when they are received.',
    passed<Duration>(duration(0)),
  ),
  consumer: option(
    'Names whoever receives, for those who look at the fleet. Left out, it is the name of the token, or of whoever `actor` tells, or else the ' +
      'address that the request comes from.',
    text(1, MAX_CONSUMER_LENGTH),
  ),
} satisfies Rules<Omit<ReceiveOptions, 'signal'>>;

export const ReceiveBody = body('Receive', 'How messages are received.', RECEIVE_RULES);

export type ReceiveBody = Partial<ReturnType<typeof ReceiveBody>>;

export const ReceiveFromBody = body('ReceiveFrom', 'How messages of several topics are received.', {
  topics: described('What is due in an earlier one comes first.', listOf(text(), { of: 'topics', min: 1, max: 100 })),
  ...RECEIVE_RULES,
});

export const RescheduleBody = either(
  objectOf({ delay: passed<Duration>(duration(0)) }),
  'deliverAt',
  objectOf({ deliverAt: timeOf<LocalTime>(DELIVER_AT, DUE_FORMS) }),
);

const OF_SCHEDULES = {
  ...MESSAGE_RULES,
  key: described(
    'The key of all its messages, which cannot be changed later; the id of the schedule if it is left out.',
    MESSAGE_RULES.key,
  ),
};

export const ScheduleBody = body(
  'NewSchedule',
  'A rule that publishes a message again and again: at an interval, or at the times of a cron expression.',
  {
    topic: described('Where its messages go. It cannot be changed.', text()),
    payload: described('What its messages carry.', PAYLOAD),
    ...allPassed<ScheduleRule>(SCHEDULE_RULES),
    startAt: timeOf<undefined>(SCHEDULE_RULES.startAt),
    endAt: timeOf<undefined>(SCHEDULE_RULES.endAt),
    options: option(
      'How the messages of the schedule are published.',
      passed<ScheduledMessageOptions>(objectOf(OF_SCHEDULES)),
    ),
  },
);

/** Query of requests for a message by its id, which may need its key as well. */
export const KeyQuery = objectOf({ key: option('Its key, if it was published with one.', text()) });

export const TagQuery = objectOf({ tag: described('What the messages carry.', text()) });

export const TopicQuery = objectOf({ topic: option('Only those of this topic.', text()) });
