import type { Observable } from 'rxjs';
import type { AuditedAction } from '../events/audit-log.js';
import type { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import type { MessageRef } from '../messages/message-ref.js';
import type { FleetEvent } from '../events/fleet-event.js';
import type { DelayQueueSchedules } from '../schedules/delay-queue.schedules.js';
import type { Schedule } from '../schedules/schedule.interface.js';
import { Refusal } from '../http/refusal.js';
import type { Clock } from '../time/clock.js';
import type { Operations } from './operations.js';
import type { DashboardRedact } from './redaction.js';
import { type Looks, cheap } from './shared-looks.js';
import type { Viewer } from './viewer.js';

/** What the dashboard shows and acts on. */
export interface DashboardQueues {
  readonly admin: DelayQueueAdmin;
  readonly schedules: DelayQueueSchedules;
  readonly events: { readonly fleet: Observable<FleetEvent> };
}

/** What a route works with. */
export interface RouteContext {
  readonly queues: DashboardQueues;
  readonly looks: Looks;
  readonly operations: Operations;
  readonly clock: Clock;
  /** What this viewer gets of a payload; `undefined`: all of it. */
  readonly redact: DashboardRedact | undefined;
  /** Where a trace is shown, with `{traceId}` in it. */
  readonly traceUrl: string | undefined;
  readonly viewer: Viewer;
  /** The same, for the audit log. */
  readonly by: { readonly actor: string | undefined };
}

/**
 * Answers what it is to show; it changes nothing. The parameter `topic`, if it is given, is one that the viewer sees; what else it tells
 * of topics it has to choose itself.
 */
export type ReadingRoute = (context: RouteContext, query: Given) => Promise<unknown>;

/** Changes something. For the property `topic` the same holds. */
export interface ActingRoute {
  /** What a viewer has to be allowed, also to count only. */
  readonly action: AuditedAction | ((context: RouteContext, body: Given) => AuditedAction);
  /** Answers what became of it. */
  readonly act: (context: RouteContext, body: Given) => Promise<unknown>;
}

/**
 * A topic that was never used is refused to whoever sees only some: an answer about it may name the one that was probably meant.
 *
 * @throws Refusal unless the viewer sees the topic that was given, if one was
 */
export async function assertSeesTopicOf({ viewer, looks, queues }: RouteContext, given: Given): Promise<void> {
  const topic = given.optionalText('topic');
  if (topic === undefined || viewer.seesAllTopics) return;
  viewer.assertSees(topic);
  const topics = await looks.take('topics', () => queues.admin.topics(), cheap);
  if (!topics.includes(topic)) throw noSuchTopic();
}

export function noSuchTopic(): Refusal {
  return new Refusal(404, 'NOT_FOUND', 'There is no such topic.');
}

/** @throws Refusal if there is no such schedule, or the viewer does not see its topic */
export async function scheduleOf({ queues, viewer }: RouteContext, given: Given): Promise<Schedule> {
  const id = given.text('id');
  const topic = await queues.schedules.topicOf(id);
  const schedule = topic !== undefined && viewer.sees(topic) ? await queues.schedules.get(id) : undefined;
  if (!schedule) throw new Refusal(404, 'NOT_FOUND', `There is no schedule '${id}'.`);
  return schedule;
}

/** What a request was given: the parameters of its URL, or the properties of its body. */
export class Given {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  value(name: string): unknown {
    return this.#values[name];
  }

  /** @throws Refusal unless it is a string that is not empty */
  text(name: string): string {
    const value = this.optionalText(name);
    if (value === undefined) throw refused(`'${name}' is missing.`);
    return value;
  }

  optionalText(name: string): string | undefined {
    const value = this.#values[name];
    if (value === undefined || value === '') return undefined;
    if (typeof value !== 'string') throw refused(`'${name}' must be a string.`);
    return value;
  }

  /** @throws Refusal unless it is a number */
  number(name: string): number {
    const value = this.optionalNumber(name);
    if (value === undefined) throw refused(`'${name}' is missing.`);
    return value;
  }

  optionalNumber(name: string): number | undefined {
    const value = this.#values[name];
    if (value === undefined || value === '') return undefined;
    const number = typeof value === 'string' ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isFinite(number)) throw refused(`'${name}' must be a number.`);
    return number;
  }

  /** @throws Refusal unless it was said: a misspelt dry run would be none */
  flag(name: string): boolean {
    const value = this.#values[name];
    if (typeof value !== 'boolean') throw refused(`'${name}' must be true or false.`);
    return value;
  }

  /** A time from now on, or a point in time. */
  when(): { delay: string } | { deliverAt: number } {
    const deliverAt = this.optionalNumber('deliverAt');
    return deliverAt === undefined ? { delay: this.text('delay') } : { deliverAt };
  }

  /** A message by its id, or by id and key. */
  message(): MessageRef {
    const id = this.text('id');
    const key = this.optionalText('key');
    return key === undefined ? id : { id, key };
  }
}

function refused(message: string): Refusal {
  return new Refusal(400, 'INVALID_ARGUMENT', message);
}
