import type { IncomingMessage } from 'node:http';
import type { AuditedAction } from '../audit/audit-log.js';
import { describe } from '../checks/describe.js';
import { ConfigurationError } from '../errors/options.errors.js';

/**
 * What somebody may do in the dashboard: `'none'`: nothing; `'read'`: see everything, payloads too, and change nothing; `'operate'`: see
 * everything, and change it.
 *
 * @publicApi
 */
export type DashboardRight = 'none' | 'read' | 'operate';

/**
 * Who somebody is, and what exactly they may do in the dashboard. What is left out is as {@link right} says; without that it is the least:
 * no action and no payloads.
 *
 * @publicApi
 */
export interface DashboardUser {
  /** What {@link actions} and {@link payloads} are if they are left out. @defaultValue no action and no payloads */
  readonly right?: 'read' | 'operate' | undefined;
  /** Who it is, for the audit log: 1 to 256 characters. @defaultValue unknown */
  readonly actor?: string | undefined;
  /** The topics that they see and act on: names, and beginnings of names such as `'order.*'`. @defaultValue all topics */
  readonly topics?: readonly string[] | undefined;
  /** What they may do, in the words of the audit log. @defaultValue all with `'operate'`, else none */
  readonly actions?: readonly AuditedAction[] | undefined;
  /** Whether they see payloads, and may search in them. @defaultValue true with a `right`, else false */
  readonly payloads?: boolean | undefined;
}

/**
 * Says for each request what whoever sent it may do. What it throws ends the request, as in a guard; what it answers wrongly is a
 * `ConfigurationError`, which lets nobody in.
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
