import type { Observable } from 'rxjs';
import type { AuditedAction, FleetEvent } from '../admin/index.js';
import type { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import type { MessageRef } from '../messages/message-ref.js';
import type { DelayQueueSchedules } from '../schedules/delay-queue.schedules.js';
import { Refusal } from '../http/refusal.js';
import type { Clock } from '../time/clock.js';
import type { Operations } from './operations.js';
import type { DashboardRedact, Unredacted } from './redaction.js';
import type { Looks } from './shared-looks.js';
import type { Viewer } from './viewer.js';

/** Services behind the dashboard. */
export interface DashboardQueues {
  readonly admin: DelayQueueAdmin;
  readonly schedules: DelayQueueSchedules;
  readonly events: { readonly fleet: Observable<FleetEvent> };
}

/** Context of a route. Nothing in it depends on the viewer: that is up to {@link Sees}. */
export interface RouteContext {
  readonly queues: DashboardQueues;
  readonly looks: Looks;
  readonly operations: Operations;
  readonly clock: Clock;
  /** Address of a trace, with `{traceId}` in it. */
  readonly traceUrl: string | undefined;
  /** The viewer, for the audit log. */
  readonly by: { readonly actor: string | undefined };
}

/** The same, with the viewer. */
export interface AskedContext extends RouteContext {
  readonly viewer: Viewer;
  /** Returns the part of a payload that this viewer gets; `undefined`: all of it. */
  readonly redact: DashboardRedact | undefined;
}

/** Decides which topics and payloads a viewer gets. Routes share those of `sees.ts`. */
export interface Sees<S> {
  /**
   * Finds the subject of a request, which no route gets in another way.
   *
   * @throws Refusal unless the viewer sees it
   */
  find(asked: AskedContext, given: Given): S | Promise<S>;
}

/** Also removes from an answer what its viewer does not see. */
export interface Cuts<S, A, R> extends Sees<S> {
  show(answer: A, viewer: Viewer, redact: DashboardRedact | undefined): R;
}

/** A right that depends on the subject of a request. A method, so that routes about different subjects have one type. */
interface RightOf<S> {
  of(seen: S): AuditedAction;
}

/**
 * A look, requested with GET, which changes nothing, or an action, requested with POST. It works with `S`, returns `A`, and its viewer gets
 * `R` of that.
 */
export interface RouteOf<S, A, R> {
  /** `look`, which everyone has who sees the dashboard at all, or an action, which a viewer has to be granted even for a dry run. */
  readonly right: 'look' | AuditedAction | RightOf<S>['of'];
  readonly sees: Sees<S> & Partial<Pick<Cuts<S, A, R>, 'show'>>;
  run(context: RouteContext, input: Input, seen: S): Promise<A>;
}

export type Route = RouteOf<unknown, unknown, unknown>;

/** The routes of a part of the dashboard, by their paths. */
export type Routes = Readonly<Record<string, Route>>;

/** Makes the compiler check that a route works with what its viewer sees, and that its answer has no unredacted payload. */
export function route<S, A, R = A>(
  right: RouteOf<S, A, R>['right'],
  sees: RouteOf<S, A, R>['sees'],
  run: RouteOf<S, A, R>['run'] & ([Unredacted<R>] extends [never] ? unknown : never),
): Route {
  return { right, sees, run };
}

/**
 * Returns the answer of a route for a viewer. Nothing is answered in another way.
 *
 * @throws Refusal if they lack the right, or do not see what they ask about
 */
export async function answerOf(asked: AskedContext, given: Given, definition: Route): Promise<unknown> {
  const [{ viewer, redact }, { right, sees }] = [asked, definition];
  if (typeof right === 'string') viewer.assertMay(right);
  const seen = await sees.find(asked, given);
  if (typeof right !== 'string') viewer.assertMay(right(seen));
  const answer = await definition.run(asked, given, seen);
  return sees.show ? sees.show(answer, viewer, redact) : answer;
}

export function noSuchTopic(): Refusal {
  return new Refusal(404, 'NOT_FOUND', 'There is no such topic.');
}

/** Input of a request: the parameters of its URL, or the properties of its body. */
export class Given {
  /** The topic, kept apart so that a route only gets it by {@link Sees}. */
  readonly topic: string | undefined;
  readonly #values: Readonly<Record<string, unknown>>;

  /** @throws Refusal if the topic is not a string */
  constructor({ topic, ...values }: Readonly<Record<string, unknown>>) {
    this.topic = textOf('topic', topic);
    this.#values = values;
  }

  value(name: string): unknown {
    return this.#values[name];
  }

  /** @throws Refusal unless it is a string that is not empty */
  text(name: string): string {
    return required(name, this.optionalText(name));
  }

  optionalText(name: string): string | undefined {
    return textOf(name, this.#values[name]);
  }

  /** @throws Refusal unless it is a number */
  number(name: string): number {
    return required(name, this.optionalNumber(name));
  }

  optionalNumber(name: string): number | undefined {
    const value = this.#values[name];
    if (value === undefined || value === '') return undefined;
    const number = typeof value === 'string' ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isFinite(number)) throw refused(`'${name}' must be a number.`);
    return number;
  }

  /** @throws Refusal unless it was given: a misspelt `dryRun` would make changes */
  flag(name: string): boolean {
    const value = this.#values[name];
    if (typeof value !== 'boolean') throw refused(`'${name}' must be true or false.`);
    return value;
  }

  /** Returns a delay from now on, or a point in time. */
  when(): { delay: string } | { deliverAt: number } {
    const deliverAt = this.optionalNumber('deliverAt');
    return deliverAt === undefined ? { delay: this.text('delay') } : { deliverAt };
  }

  /** Returns a reference to a message by its id, or by id and key. */
  message(): MessageRef {
    const id = this.text('id');
    const key = this.optionalText('key');
    return key === undefined ? id : { id, key };
  }
}

/** The part of the input that a route itself gets. */
export type Input = Omit<Given, 'topic'>;

function textOf(name: string, value: unknown): string | undefined {
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string') throw refused(`'${name}' must be a string.`);
  return value;
}

/** @throws Refusal unless it was given */
export function required<T>(name: string, value: T | undefined): T {
  if (value === undefined) throw refused(`'${name}' is missing.`);
  return value;
}

function refused(message: string): Refusal {
  return new Refusal(400, 'INVALID_ARGUMENT', message);
}
