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

/** What the dashboard shows and acts on. */
export interface DashboardQueues {
  readonly admin: DelayQueueAdmin;
  readonly schedules: DelayQueueSchedules;
  readonly events: { readonly fleet: Observable<FleetEvent> };
}

/** What a route works with. Nothing of it depends on who asks: that is for {@link Sees}. */
export interface RouteContext {
  readonly queues: DashboardQueues;
  readonly looks: Looks;
  readonly operations: Operations;
  readonly clock: Clock;
  /** Where a trace is shown, with `{traceId}` in it. */
  readonly traceUrl: string | undefined;
  /** Who it is, for the audit log. */
  readonly by: { readonly actor: string | undefined };
}

/** The same, and who asks. */
export interface AskedContext extends RouteContext {
  readonly viewer: Viewer;
  /** Returns what this viewer gets of a payload; `undefined`: all of it. */
  readonly redact: DashboardRedact | undefined;
}

/** Decides what of topics and payloads a viewer gets. Routes share those of `sees.ts`. */
export interface Sees<S> {
  /**
   * Finds what a request is about, which no route gets in another way.
   *
   * @throws Refusal unless the viewer sees it
   */
  find(asked: AskedContext, given: Given): S | Promise<S>;
}

/** Also takes out of an answer what its viewer does not see. */
export interface Cuts<S, A, R> extends Sees<S> {
  show(answer: A, viewer: Viewer, redact: DashboardRedact | undefined): R;
}

/** A right that depends on what a request is about. A method, so that routes about different things are of one type. */
interface RightOf<S> {
  of(seen: S): AuditedAction;
}

/**
 * A look, asked with GET, which changes nothing, or an action, asked with POST. It works with `S`, answers `A`, and its viewer gets `R`
 * of that.
 */
export interface RouteOf<S, A, R> {
  /** To look, which all may who see the dashboard at all, or an action, which a viewer has to be allowed, also to count only. */
  readonly right: 'look' | AuditedAction | RightOf<S>['of'];
  readonly sees: Sees<S> & Partial<Pick<Cuts<S, A, R>, 'show'>>;
  run(context: RouteContext, input: Input, seen: S): Promise<A>;
}

export type Route = RouteOf<unknown, unknown, unknown>;

/** The routes of a part of the dashboard, by their paths. */
export type Routes = Readonly<Record<string, Route>>;

/** Has the compiler check that a route works with what its viewer sees, and that what they get has no payload as it is stored. */
export function route<S, A, R = A>(
  right: RouteOf<S, A, R>['right'],
  sees: RouteOf<S, A, R>['sees'],
  run: RouteOf<S, A, R>['run'] & ([Unredacted<R>] extends [never] ? unknown : never),
): Route {
  return { right, sees, run };
}

/**
 * Answers what a viewer gets of a route. Nothing is answered in another way.
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

/** What a request was given: the parameters of its URL, or the properties of its body. */
export class Given {
  /** Apart from all else, so that a route gets it by {@link Sees} alone. */
  readonly topic: string | undefined;
  readonly #values: Readonly<Record<string, unknown>>;

  /** @throws Refusal if the topic is no string */
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

/** What of that a route itself is given. */
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
