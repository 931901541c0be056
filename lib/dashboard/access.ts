import type { IncomingMessage } from 'node:http';
import { asConfiguration, isPlainObject } from '../checks/validate.js';
import { describe } from '../checks/describe.js';
import { ConfigurationError } from '../errors/options.errors.js';
import { assertActor } from '../events/audit-log.js';

/**
 * What somebody may do in the dashboard: nothing, look, or also act.
 *
 * @publicApi
 */
export type DashboardRight = 'none' | 'read' | 'operate';

/**
 * Who somebody is and what they may do in the dashboard.
 *
 * @publicApi
 */
export interface DashboardUser {
  readonly right: DashboardRight;
  /** Who it is, for the audit log: 1 to 256 characters. */
  readonly actor?: string | undefined;
}

/**
 * Says for each request what whoever sent it may do. What it throws ends the request, as in a guard.
 *
 * @publicApi
 */
export type DashboardAccess<R = IncomingMessage> = (
  request: R,
) => DashboardRight | DashboardUser | Promise<DashboardRight | DashboardUser>;

/** @throws ConfigurationError if there is none: who may see the queues is never assumed */
export function assertAccess(where: string, access: unknown): void {
  if (typeof access === 'function') return;
  throw new ConfigurationError(
    `${where} needs the option 'access', a function that says for each request whether it may see the queues ('read'), ` +
      `also change them ('operate'), or neither ('none'). Given: ${describe(access)}.`,
  );
}

/** @throws ConfigurationError if the application has answered something else than `DashboardAccess` allows */
export function userOf(answer: unknown): DashboardUser {
  const { right, actor } = isPlainObject(answer) ? answer : { right: answer };
  if (!isRight(right)) {
    throw new ConfigurationError(
      `The option 'access' of the dashboard must answer 'none', 'read', 'operate' or { right, actor }. Given: ${describe(answer)}.`,
    );
  }
  return asConfiguration("What the option 'access' of the dashboard has answered", () => {
    assertActor(actor);
    return { right, actor };
  });
}

function isRight(value: unknown): value is DashboardRight {
  return value === 'none' || value === 'read' || value === 'operate';
}
