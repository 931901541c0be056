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
import type { PublishedMessage } from '../../messages/publish-options.interface.js';
import type { DelayQueueSchedules } from '../../schedules/delay-queue.schedules.js';
import type { CancelResult, RescheduleResult } from '../../store/messages/change-message.js';
import type { BulkOptions, BulkResult } from '../bulk-options.js';
import type { DeadLetterFilter } from '../dead-letter-filter.js';
import type { DelayQueueAdmin } from '../delay-queue.admin.js';
import type { MessageFilter } from '../message-filter.js';

/** What actions are done with. */
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

/** How an action is done, by what it is done to. */
export interface Works {
  readonly message: { readonly one: OnMessage };
  /** One, or all that wait and fit a filter. */
  readonly messages: {
    readonly one: OnMessage;
    readonly many: OnMany<OfTopic & { readonly filter: MessageFilter }>;
    /** Whether those that are being handled are meant, too. */
    readonly inFlight?: boolean | undefined;
  };
  readonly deadLetters: { readonly many: OnMany<OfTopic & { readonly which: MessageRef | DeadLetterFilter }> };
  /** Everything of a topic that is in one state. */
  readonly state: { readonly many: OnMany<OfTopic> };
  readonly topic: { readonly one: OnOne<OfTopic, { readonly heldUntil?: Date }> };
  /** Answers whether there is such a schedule, or what it has published. */
  readonly schedule: { readonly one: OnOne<{ readonly id: string }, boolean | PublishedMessage> };
}

export type Target = keyof Works;

/** What people are told of an action. */
interface Told {
  readonly summary: string;
  readonly description: string;
  /** What stands behind the name of its command. */
  readonly examples: readonly [string, ...string[]];
  /** What became of what it was done to, such as `requeued`. */
  readonly done: string;
  /** What it does that cannot be undone, such as `removes`; people are asked first. */
  readonly destroys?: string;
  /** What it is done to, such as `dead letter`, if it can be done to many. */
  readonly noun?: string;
  /** What it leaves behind, for programs. */
  readonly became?: object;
}

/** The inputs of an action, beside its target. */
interface Inputs<R extends AnyRules> {
  readonly input: R;
  /** Of those, the ones that say how many are meant. */
  readonly onlyForMany?: readonly (string & keyof R)[];
  /** Those that the command line calls otherwise. */
  readonly flags?: { readonly [Input in keyof R]?: string };
}

/** An action, as far as it is the same for all that do it. */
export interface ActionOn<T extends Target> extends Told, Inputs<AnyRules> {
  readonly target: T;
  /**
   * @param given the inputs as they were given
   * @throws InvalidArgumentError
   */
  works(given: object): Works[T];
}

export type Action = { [T in Target]: ActionOn<T> }[Target];

/** Declares an action: what it is done to, what else it takes, and how it is done. */
export function action<T extends Target, R extends AnyRules>(
  target: T,
  { works, ...told }: Told & Inputs<R> & { readonly works: (input: Used<R>) => Works[T] },
): ActionOn<T> {
  return { ...told, target, works: (given) => works(applyRules(told.input, 'The input', given)) };
}

/**
 * An input that a rule checks. It is handed on as it was given, since the audit log has it so.
 *
 * @param meaning for those who type it
 */
export function input<Given>(meaning: string, rule: Rule<Given, unknown>, more: JsonSchema = {}): Rule<Given, Given> {
  return declared({ ...rule.schema, ...more, description: meaning }, (name, given: Given) => {
    rule(name, given);
    return given;
  });
}

/** The same for an input that can be left out. */
export function optionalInput<Given>(
  meaning: string,
  rule: Rule<Given, unknown>,
  more?: JsonSchema,
): Rule<Given | undefined, Given | undefined> {
  return optional(input(meaning, rule, more));
}
