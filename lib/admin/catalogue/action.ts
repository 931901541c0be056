import type { EditResult } from '../edit-payload.js';
import {
  type AnyRules,
  type JsonSchema,
  type Rule,
  type Used,
  applyRules,
  declared,
  optional,
} from '../../checks/rules.js';
import type { ActionOptions } from '../../events/audit-log.js';
import type { MessageRef } from '../../messages/message-ref.js';
import type { ConfirmedPublish } from '../../messages/publish-options.interface.js';
import type { DelayQueueSchedules } from '../../schedules/delay-queue.schedules.js';
import type { CancelResult, RescheduleResult } from '../../store/messages/change-message.js';
import type { BulkOptions, BulkResult } from '../bulk-options.js';
import type { DeadLetterFilter } from '../dead-letter-filter.js';
import type { DelayQueueAdmin } from '../delay-queue.admin.js';
import type { MessageFilter } from '../message-filter.js';

/** Services that perform actions. */
export interface ActingQueues {
  readonly admin: DelayQueueAdmin;
  readonly schedules: DelayQueueSchedules;
}

type Work<T, Options, Answer> = (queues: ActingQueues, target: T, options: Options) => Promise<Answer>;

type OnOne<T, Answer> = Work<T, ActionOptions, Answer>;

/** Counts with `dryRun`, and can be stopped. */
type OnMany<T> = Work<T, BulkOptions, BulkResult>;

interface OfTopic {
  readonly topic: string;
}

type OnMessage = OnOne<OfTopic & { readonly ref: MessageRef }, CancelResult | RescheduleResult | EditResult>;

/** Implementations of an action, by the kind of its target. */
export interface Works {
  readonly message: { readonly one: OnMessage };
  /** One message, or all waiting messages that match a filter. */
  readonly messages: {
    readonly one: OnMessage;
    readonly many: OnMany<OfTopic & { readonly filter: MessageFilter }>;
    /** Whether messages that are being handled are included. */
    readonly inFlight?: boolean | undefined;
  };
  readonly deadLetters: { readonly many: OnMany<OfTopic & { readonly which: MessageRef | DeadLetterFilter }> };
  /** All messages of a topic in one state. */
  readonly state: { readonly many: OnMany<OfTopic> };
  readonly topic: { readonly one: OnOne<OfTopic, { readonly heldUntil?: Date }> };
  /** Returns whether the schedule exists, or the message that it published. */
  readonly schedule: { readonly one: OnOne<{ readonly id: string }, boolean | ConfirmedPublish> };
}

export type Target = keyof Works;

/** Texts about an action, for people. */
interface Told {
  readonly summary: string;
  readonly description: string;
  /** Arguments after the name of its command. */
  readonly examples: readonly [string, ...string[]];
  /** Outcome for its target, such as `requeued`. */
  readonly done: string;
  /** Verb for an effect that cannot be undone, such as `removes`; people are asked first. */
  readonly destroys?: string;
  /** Noun for its target, such as `dead letter`, if it can act on many. */
  readonly noun?: string;
  /** Result that it reports to programs. */
  readonly became?: object;
}

/** The inputs of an action, beside its target. */
interface Inputs<R extends AnyRules> {
  readonly input: R;
  /** Inputs that say how many are meant. */
  readonly onlyForMany?: readonly (string & keyof R)[];
  /** Names on the command line that differ from those of the inputs. */
  readonly flags?: { readonly [Input in keyof R]?: string };
}

/** The part of an action that everything performing it shares. */
export interface ActionOn<T extends Target> extends Told, Inputs<AnyRules> {
  readonly target: T;
  /**
   * @param given the inputs as given
   * @throws InvalidArgumentError
   */
  works(given: object): Works[T];
}

export type Action = { [T in Target]: ActionOn<T> }[Target];

/** Declares an action: its target, its other inputs and its implementation. */
export function action<T extends Target, R extends AnyRules>(
  target: T,
  { works, ...told }: Told & Inputs<R> & { readonly works: (input: Used<R>) => Works[T] },
): ActionOn<T> {
  return { ...told, target, works: (given) => works(applyRules(told.input, 'The input', given)) };
}

/**
 * Declares an input that a rule checks. It is passed on as given, because the audit log records it that way.
 *
 * @param meaning description for people who type it
 */
export function input<Given>(meaning: string, rule: Rule<Given, unknown>, more: JsonSchema = {}): Rule<Given, Given> {
  return declared({ ...rule.schema, ...more, description: meaning }, (name, given: Given) => {
    rule(name, given);
    return given;
  });
}

/** Declares an input that can be left out. */
export function optionalInput<Given>(
  meaning: string,
  rule: Rule<Given, unknown>,
  more?: JsonSchema,
): Rule<Given | undefined, Given | undefined> {
  return optional(input(meaning, rule, more));
}
