import { v7 as uuidv7 } from 'uuid';
import type { Broker } from '../store/broker.interface.js';
import { MAX_BATCH } from '../store/partition.js';
import { AUDIT_PLACE, type AuditPage } from '../store/records/audit.interface.js';
import { serveWithin } from '../store/calls/serve.js';
import { describe } from '../checks/describe.js';
import { isPlainObject } from '../checks/kinds.js';
import { type Rules, applyRules, integer, orElse } from '../checks/rules.js';
import { AuditFailedError, BrokerUnavailableError } from '../errors/operation.errors.js';
import { InvalidArgumentError } from '../errors/options.errors.js';
import type { EventSink } from './queue-events.interface.js';
import { type Log, firstLine } from '../log.js';
import { isName } from '../messages/topic.js';
import type { Clock } from '../time/clock.js';
import { toDate } from '../time/date.js';

/**
 * List of all {@link AuditedAction}s.
 *
 * @publicApi
 */
export const AUDITED_ACTIONS = [
  'cancel',
  'reschedule',
  'runNow',
  'edit',
  'requeue',
  'remove',
  'drain',
  'purge',
  'pause',
  'hold',
  'resume',
  'cancelTagged',
  'upsertSchedule',
  'pauseSchedule',
  'resumeSchedule',
  'runScheduleNow',
  'removeSchedule',
  'pruneSchedule',
] as const;

/**
 * Actions in the audit log: the methods of `DelayQueueAdmin` that change something, and, if called with an `actor`, `cancelTagged()` of the
 * producer and the methods of `DelayQueueSchedules`.
 *
 * @publicApi
 */
export type AuditedAction = (typeof AUDITED_ACTIONS)[number];

/**
 * Options of every action.
 *
 * @publicApi
 */
export interface ActionOptions {
  /**
   * Actor for the audit log, 1 to 256 characters.
   *
   * @defaultValue unknown
   * @see docs/reference/admin.md#audit-log
   */
  readonly actor?: string | undefined;
}

/**
 * An entry of the audit log, see `DelayQueueAdmin.audit()`.
 *
 * @publicApi
 */
export interface AuditEntry {
  /** Time when the entry was written, on the Redis server's clock. */
  readonly at: Date;
  /** Actor of the call; `undefined` if it had none. */
  readonly actor: string | undefined;
  /**
   * Name of the method; for schedules `upsertSchedule`, `pauseSchedule`, `resumeSchedule`, `runScheduleNow`, `removeSchedule`, and one
   * `pruneSchedule` for each pruned schedule.
   */
  readonly action: AuditedAction;
  /** Topic that it is about. */
  readonly topic: string;
  /** Message (`id`, `key`) or filter, and the method's other arguments; for a payload only the fact that it was replaced. */
  readonly given: Readonly<Record<string, unknown>>;
  /**
   * `'begun'`: a multi-step action is about to change its first messages; another entry of the same operation follows when it ends.
   * `'done'`: it was confirmed. `'failed'`: some of it, or all, may have taken effect.
   */
  readonly phase: 'begun' | 'done' | 'failed';
  /** Result of the call as JSON, if it is done; `undefined` if it has none. */
  readonly result: unknown;
  /** Reason why it failed. */
  readonly error: string | undefined;
  /** Process in which the call was made, as `host:pid:uuid`. */
  readonly process: string;
  /** Id of the call: all entries of a call have the same value. */
  readonly operation: string;
}

/**
 * Options of `audit()`.
 *
 * @publicApi
 */
export interface AuditOptions {
  /** Most entries of the page, 1 to 200. @defaultValue 50 */
  readonly limit?: number;
  /** Cursor from the previous page; without it, the list begins with the latest entry. */
  readonly cursor?: string | undefined;
}

/**
 * A page of the audit log.
 *
 * @publicApi
 */
export interface AuditEntries {
  /** Entries, the latest first. */
  readonly entries: readonly AuditEntry[];
  /** Cursor for the next page; `undefined` if this was the last. */
  readonly cursor: string | undefined;
}

/** Data about an action that is known before it is done. */
export interface Audited {
  readonly action: AuditedAction;
  /** Whether the result has a payload, which may be a secret. */
  readonly hidesResult?: boolean;
  /** Returns the entry's fields; call this only after the arguments have been checked. */
  readonly about: () => Pick<AuditEntry, 'topic' | 'actor' | 'given'>;
}

export interface AuditLogDependencies {
  readonly broker: Pick<Broker, 'records'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
  readonly process: string;
  /** Time limit for an answer, in milliseconds. */
  readonly timeout: number;
}

type Written = Pick<AuditEntry, 'phase'> & Partial<Pick<AuditEntry, 'result' | 'error'>>;

const MAX_ACTOR_LENGTH = 256;

/** Time limit for writing an entry, in milliseconds: an operator must not wait long for it. */
const TIMEOUT = 1000;

/**
 * Records the actions of operators. An action does not depend on it: at three in the morning nobody wants to hear that a topic cannot be
 * paused because a log is unreachable. An entry that cannot be written goes to the log of the process and to its events.
 */
export class AuditLog {
  readonly #dependencies: AuditLogDependencies;

  constructor(dependencies: AuditLogDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Runs an action and writes an entry once it is confirmed, or if it has failed and may have taken effect.
   *
   * @param act called with a function to call before the first step of a multi-step action
   */
  async around<T>(audited: Audited, act: (begin: () => Promise<void>) => Promise<T>): Promise<T> {
    const operation = uuidv7();
    let result: T;
    try {
      result = await act(async () => this.#write(audited, operation, { phase: 'begun' }));
    } catch (error) {
      // After any other error it is certain that nothing has changed. Not awaited: a failed action has taken long enough.
      if (error instanceof BrokerUnavailableError)
        void this.#write(audited, operation, { phase: 'failed', error: firstLine(error.message) });
      throw error;
    }
    await this.#write(audited, operation, { phase: 'done', result: audited.hidesResult ? undefined : result });
    return result;
  }

  /** @throws InvalidArgumentError, BrokerUnavailableError */
  async read(options: AuditOptions): Promise<AuditEntries> {
    const { limit, cursor } = applyRules(AUDIT_RULES, 'The options of audit', options, '');
    const { broker, clock, timeout } = this.#dependencies;
    const page = await serveWithin(clock, timeout, () => broker.records.auditRecords({ before: cursor, limit }));
    return { entries: page.records.flatMap((record) => decodeEntry(record) ?? []), cursor: page.next };
  }

  /** Never rejects. */
  async #write({ action, about }: Audited, operation: string, written: Written): Promise<void> {
    const { broker, clock, timeout, process, log, events } = this.#dependencies;
    const { topic, actor, given } = about();
    const text = JSON.stringify({ action, topic, actor, given, ...written, process, operation });
    try {
      const record = { id: uuidv7(), text };
      await serveWithin(clock, Math.min(timeout, TIMEOUT), () => broker.records.appendAudit(record));
    } catch (error) {
      const failure = new AuditFailedError(text, error);
      log.error(failure.message);
      events.emit('errors', { source: 'audit', topic, error: failure });
    }
  }
}

const AUDIT_RULES = {
  limit: orElse(integer(1, MAX_BATCH), 50),
  cursor: orElse(checkedCursor, undefined),
} satisfies Rules<AuditOptions>;

function checkedCursor(name: string, cursor: unknown): string {
  if (typeof cursor === 'string' && AUDIT_PLACE.test(cursor)) return cursor;
  throw new InvalidArgumentError(`${name} must be one that audit() has returned. Given: ${describe(cursor)}.`);
}

/** @throws InvalidArgumentError */
export function checkedActor(name: string, actor: unknown): string | undefined {
  if (actor === undefined || (typeof actor === 'string' && actor.length > 0 && actor.length <= MAX_ACTOR_LENGTH)) {
    return actor;
  }
  throw new InvalidArgumentError(
    `${name} must be a string of 1 to ${MAX_ACTOR_LENGTH} characters. Given: ${describe(actor)}.`,
  );
}

/**
 * Returns the actor from the options of an action that has no others.
 *
 * @throws InvalidArgumentError
 */
export function actorOf(options: ActionOptions): string | undefined {
  return applyRules({ actor: checkedActor }, 'The options of the action', options, '').actor;
}

/** Decodes an entry; returns `undefined` if another program or a later version has written it. */
function decodeEntry({ at, text }: AuditPage['records'][number]): AuditEntry | undefined {
  let entry: unknown;
  try {
    entry = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isPlainObject(entry)) return undefined;
  const { action, topic, actor, given, phase, result, error, process, operation } = entry;
  if (!isAction(action) || !isName(topic) || !isPlainObject(given) || !isPhase(phase)) return undefined;
  return {
    at: toDate(at),
    actor: textOf(actor),
    action,
    topic,
    given,
    phase,
    result,
    error: textOf(error),
    process: textOf(process) ?? '',
    operation: textOf(operation) ?? '',
  };
}

function isAction(value: unknown): value is AuditedAction {
  return (AUDITED_ACTIONS as readonly unknown[]).includes(value);
}

function isPhase(value: unknown): value is AuditEntry['phase'] {
  return value === 'begun' || value === 'done' || value === 'failed';
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
