import type { IncomingMessage } from 'node:http';
import type { AuditedAction } from '../admin/index.js';

/**
 * A right of a user in the dashboard. `'none'`: nothing. `'read'`: see everything, including payloads, and change nothing. `'operate'`:
 * see and change everything.
 *
 * @publicApi
 */
export type DashboardRight = 'none' | 'read' | 'operate';

/**
 * A user of the dashboard, and their exact rights. {@link right} sets the defaults of the other properties; without it, a user has the
 * fewest rights: no action and no payloads.
 *
 * @publicApi
 */
export interface DashboardUser {
  /** `'read'` or `'operate'`: the default for `actions` and `payloads`. @defaultValue no action and no payloads */
  readonly right?: 'read' | 'operate' | undefined;
  /**
   * Name of the user, for the audit log: 1 to 256 characters. Without it, the log has no entry for changes of schedules.
   *
   * @defaultValue unknown
   * @see docs/reference/admin.md#audit-log
   */
  readonly actor?: string | undefined;
  /** Topics that the user sees and acts on: names, or beginnings of names such as `'order.*'`. @defaultValue all topics */
  readonly topics?: readonly string[] | undefined;
  /** Actions that the user is allowed to take, in the words of the audit log. @defaultValue all with `'operate'`, else none */
  readonly actions?: readonly AuditedAction[] | undefined;
  /** Whether the user sees payloads, and may search in them and edit them. @defaultValue `true` with a `right`, else `false` */
  readonly payloads?: boolean | undefined;
}

/**
 * Decides for each request what its sender is allowed to do. An error that it throws ends the request, as in a guard. A wrong answer is a
 * `ConfigurationError`, which lets nobody in.
 *
 * @publicApi
 */
export type DashboardAccess<R = IncomingMessage> = (
  request: R,
) => DashboardRight | DashboardUser | Promise<DashboardRight | DashboardUser>;
