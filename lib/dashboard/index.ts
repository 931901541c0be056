// The dashboard, `nestjs-delay-queue/dashboard`: anything not named here can change at any time.

export {
  DelayQueueDashboardModule,
  type DashboardHttpRequest,
  type DelayQueueDashboardOptions,
} from './dashboard.module.js';
export type { DashboardAccess, DashboardRight, DashboardUser } from './access.js';
export type { DashboardRedact, RedactedPlace } from './redaction.js';
export type { HttpRequest } from '../http/framework.js';
