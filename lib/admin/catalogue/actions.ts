import { asGiven, declared, duration, trueOrFalse } from '../../checks/rules.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import { AUDITED_ACTIONS, type AuditedAction } from '../../events/audit-log.js';
import { DELIVER_AT } from '../../messages/message-options.js';
import type { Duration } from '../../time/duration.js';
import type { LocalTime } from '../../time/local-time.js';
import { type Action, action, input, optionalInput } from './action.js';

type Time = Date | number | LocalTime;

/** Actions of operators on what exists. The others store schedules, or act on what only a program knows. */
type ActionName = Exclude<AuditedAction, 'cancelTagged' | 'upsertSchedule' | 'pruneSchedule'>;

const DECLARED: { readonly [Name in ActionName]: Action } = {
  cancel: action('messages', {
    summary: 'cancel a message, or all that fit',
    description:
      'Cancels a message; if it is being handled, its signal is aborted and no retry follows. Without an id it cancels those that wait and ' +
      'fit all filters, and asks first.',
    examples: ['order.timeout 42', 'order.timeout --tag customer:7 --dry-run'],
    noun: 'waiting message',
    done: 'cancelled',
    destroys: 'cancels',
    input: { inFlight: optionalInput<boolean>('without an id: those that are being handled, too', trueOrFalse) },
    onlyForMany: ['inFlight'],
    works: ({ inFlight }) => ({
      inFlight,
      one: ({ admin }, { topic, ref }, options) => admin.cancel(topic, ref, options),
      many: ({ admin }, { topic, filter }, options) => admin.cancel(topic, filter, { ...options, inFlight }),
    }),
  }),

  reschedule: action('messages', {
    summary: 'move a message that waits, or all that fit, to another time',
    description:
      'Moves a message that waits, or without an id those that fit all filters, to another time: say either how long from now, or when.',
    examples: ['order.timeout 42 --delay 1h', 'order.timeout --tag customer:7 --delay 30d --dry-run'],
    noun: 'waiting message',
    done: 'rescheduled',
    input: {
      delay: optionalInput<Duration>("time from now, such as '30m'", duration(0)),
      deliverAt: optionalInput<Time>('when it is due', DELIVER_AT),
    },
    works: (given) => {
      const when = whenOf(given);
      return {
        one: ({ admin }, { topic, ref }, options) => admin.reschedule(topic, ref, when, options),
        many: ({ admin }, { topic, filter }, options) => admin.reschedule(topic, filter, when, options),
      };
    },
  }),

  runNow: action('messages', {
    summary: 'make a message that waits, or all that fit, due now',
    description:
      'Makes a message that waits due now, or without an id those that fit all filters. One that is due already keeps its place before others.',
    examples: ['order.timeout 42', 'order.timeout --tag customer:7 --rate 50'],
    noun: 'waiting message',
    done: 'due',
    input: {},
    works: () => ({
      one: ({ admin }, { topic, ref }, options) => admin.runNow(topic, ref, options),
      many: ({ admin }, { topic, filter }, options) => admin.runNow(topic, filter, options),
    }),
  }),

  edit: action('message', {
    summary: 'give a message that waits another payload',
    description:
      'Gives a message that waits another payload. Its due time, headers, options and attempts stay as they are.',
    examples: [`order.timeout 42 '{"orderId":"42","currency":"EUR"}'`],
    done: 'edited',
    input: { payload: declared({ description: 'JSON, @file, or - for the standard input' }, assertGiven) },
    works: ({ payload }) => ({
      one: ({ admin }, { topic, ref }, options) => admin.edit(topic, ref, payload, options),
    }),
  }),

  requeue: action('deadLetters', {
    summary: 'schedule dead letters again',
    description:
      'Schedules dead letters again, with all their attempts before them: one by its id, those that a filter fits, or all. ' +
      'Payload, headers and options stay as they are.',
    examples: ['order.timeout --id 42', 'order.timeout --reason failed --rate 50 --dry-run'],
    noun: 'dead letter',
    done: 'requeued',
    input: {
      delay: optionalInput<Duration>('time until they are due', duration(0), { default: '0' }),
      payload: optionalInput<unknown>(
        'with --id: another payload, as JSON, @file, or - for the standard input',
        asGiven,
      ),
    },
    works: ({ delay, ...replaced }) => ({
      many: ({ admin }, { topic, which }, options) =>
        admin.requeue(topic, which, { ...options, ...replaced, ...(delay !== undefined && { delay }) }),
    }),
  }),

  remove: action('deadLetters', {
    summary: 'remove dead letters for good',
    description: 'Removes dead letters for good: one by its id, those that a filter fits, or all. It asks first.',
    examples: ['order.timeout --fingerprint 0123456789abcdef --dry-run', 'order.timeout --id 42 --yes'],
    noun: 'dead letter',
    done: 'removed',
    destroys: 'removes',
    input: {},
    works: () => ({ many: ({ admin }, { topic, which }, options) => admin.remove(topic, which, options) }),
  }),

  drain: action('state', {
    summary: 'remove every message that waits',
    description:
      'Removes every message that waits, also those that wait for their next attempt. What is in flight or dead stays. It asks first.',
    examples: ['order.timeout --dry-run', 'order.timeout --yes'],
    noun: 'waiting message',
    done: 'removed',
    destroys: 'removes',
    input: {},
    works: () => ({ many: ({ admin }, { topic }, options) => admin.drain(topic, options) }),
  }),

  purge: action('state', {
    summary: 'remove every dead letter',
    description: 'Removes every dead letter of a topic, also those that die meanwhile. It asks first.',
    examples: ['order.timeout --dry-run', 'order.timeout --yes'],
    noun: 'dead letter',
    done: 'removed',
    destroys: 'removes',
    input: {},
    works: () => ({ many: ({ admin }, { topic }, options) => admin.purge(topic, options) }),
  }),

  pause: action('topic', {
    summary: 'stop handing out the messages of a topic',
    description:
      'Stops handing out the messages of a topic, in all processes and until it is resumed. What is being handled goes on.',
    examples: ['order.timeout'],
    done: 'paused',
    became: { paused: true },
    input: {},
    works: () => ({
      one: async ({ admin }, { topic }, options) => {
        await admin.pause(topic, options);
        return {};
      },
    }),
  }),

  hold: action('topic', {
    summary: 'stop handing out the messages of a topic for a while',
    description:
      'Stops handing out the messages of a topic for a while, in all processes. What is being handled goes on. It ends by itself, or by ' +
      'resume; a hold that lasts longer stays.',
    examples: ['order.timeout --for 30m'],
    done: 'held',
    input: { delay: input<Duration>("how long from now, such as '30m'", duration(0)) },
    flags: { delay: 'for' },
    works: ({ delay }) => ({
      one: async ({ admin }, { topic }, options) => ({ heldUntil: await admin.hold(topic, delay, options) }),
    }),
  }),

  resume: action('topic', {
    summary: 'end a pause or a hold',
    description: 'Ends a pause or a hold: what has fallen due meanwhile is handed out at once.',
    examples: ['order.timeout'],
    done: 'neither paused nor held any more',
    became: { paused: false },
    input: {},
    works: () => ({
      one: async ({ admin }, { topic }, options) => {
        await admin.resume(topic, options);
        return {};
      },
    }),
  }),

  pauseSchedule: action('schedule', {
    summary: 'let nothing of a schedule occur until it is resumed',
    description: 'Lets nothing of a schedule occur until it is resumed. What has occurred stays.',
    examples: ['report.daily'],
    done: 'paused',
    became: { paused: true },
    input: {},
    works: () => ({ one: ({ schedules }, { id }, options) => schedules.pause(id, options) }),
  }),

  resumeSchedule: action('schedule', {
    summary: 'end the pause of a schedule',
    description:
      'Ends the pause of a schedule: it goes on with its next occurrence, and those of the pause are not caught up.',
    examples: ['report.daily'],
    done: 'not paused any more',
    became: { paused: false },
    input: {},
    works: () => ({ one: ({ schedules }, { id }, options) => schedules.resume(id, options) }),
  }),

  runScheduleNow: action('schedule', {
    summary: 'publish the message of a schedule now',
    description: 'Publishes the message of a schedule now, beside its occurrences, even if it is paused.',
    examples: ['report.daily'],
    done: 'due now',
    input: {},
    works: () => ({ one: ({ schedules }, { id }, options) => schedules.runNow(id, options) }),
  }),

  removeSchedule: action('schedule', {
    summary: 'remove a schedule',
    description: 'Removes a schedule. What has occurred stays. It asks first.',
    examples: ['report.daily --yes'],
    done: 'removed',
    destroys: 'removes',
    became: { removed: true },
    input: {},
    works: () => ({ one: ({ schedules }, { id }, options) => schedules.remove(id, options) }),
  }),
};

export type NamedAction = Action & {
  readonly name: ActionName;
  /** Name of its command, and last part of its path: for `runScheduleNow`, in the group of schedules, `run-now`. */
  readonly command: string;
};

/** All actions of operators, in the order of {@link AUDITED_ACTIONS}. */
export const ACTIONS: readonly NamedAction[] = AUDITED_ACTIONS.filter(isDeclared).map((name) => ({
  ...DECLARED[name],
  name,
  command: name.replace('Schedule', '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
}));

function isDeclared(name: AuditedAction): name is ActionName {
  return name in DECLARED;
}

/** @throws InvalidArgumentError unless exactly one of the two is given */
function whenOf(given: {
  readonly delay: Duration | undefined;
  readonly deliverAt: Time | undefined;
}): { delay: Duration } | { deliverAt: Time } {
  const { delay, deliverAt } = given;
  if (delay !== undefined && deliverAt === undefined) return { delay };
  if (delay === undefined && deliverAt !== undefined) return { deliverAt };
  throw new InvalidArgumentError('Give either delay or deliverAt.');
}

function assertGiven(name: string, given: unknown): unknown {
  if (given !== undefined) return given;
  throw new InvalidArgumentError(`${name} is missing.`);
}
