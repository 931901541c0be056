import type { Observable } from 'rxjs';
import type { DelayQueueAdmin } from '../admin/delay-queue.admin.js';
import type { FleetEvent } from '../events/fleet-event.js';
import type { DelayQueueSchedules } from '../schedules/delay-queue.schedules.js';
import type { DashboardUser } from './access.js';
import type { Operations } from './operations.js';
import type { DashboardRedact } from './redaction.js';
import { Refusal } from '../http/refusal.js';
import type { Clock } from '../time/clock.js';
import type { SharedLooks } from './shared-looks.js';

/** What the dashboard shows and acts on. */
export interface DashboardQueues {
  readonly admin: DelayQueueAdmin;
  readonly schedules: DelayQueueSchedules;
  readonly events: { readonly fleet: Observable<FleetEvent> };
}

/** What a route works with. */
export interface RouteContext {
  readonly queues: DashboardQueues;
  readonly looks: SharedLooks;
  readonly operations: Operations;
  readonly clock: Clock;
  readonly redact: DashboardRedact | undefined;
  /** Where a trace is shown, with `{traceId}` in it. */
  readonly traceUrl: string | undefined;
  readonly user: DashboardUser;
}

/** Answers what it is to show; it changes nothing. */
export type ReadingRoute = (context: RouteContext, query: Given) => Promise<unknown>;

/** Changes something, and answers what became of it. */
export type ActingRoute = (context: RouteContext, body: Given) => Promise<unknown>;

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

  /** A message by its id, or by id and key. */
  message(): string | { id: string; key: string } {
    const id = this.text('id');
    const key = this.optionalText('key');
    return key === undefined ? id : { id, key };
  }
}

function refused(message: string): Refusal {
  return new Refusal(400, 'INVALID_ARGUMENT', message);
}
