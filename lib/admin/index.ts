// Types that operators pass and receive, `nestjs-delay-queue/admin`: anything not named here can change at any time. The classes that they
// call are in the package's main entry.

// Topics and messages
export type {
  Agenda,
  AgendaBucket,
  AgendaCounts,
  AgendaOptions,
  TopicAgenda,
  UnreachablePartitions,
} from './agenda.js';
export { EXPLAIN_CAUSES, type ExplainCause } from './explain-causes.js';
export type { ExplainFacts, Explanation } from './explain.js';
export type { MessageDetails } from './message-details.js';
export type { MessageFilter } from './message-filter.js';
export type { PeekOptions, PeekPage, PeekState } from './peek.js';
export type { SearchOptions, SearchPage } from './search.js';
export type { PartitionStatus, TopicCounters, TopicCounts, TopicStats } from './topic-stats.js';

// Actions
export type {
  BulkOptions,
  BulkProgress,
  BulkResult,
  CancelManyOptions,
  CancelManyResult,
  ClearOptions,
  RequeueOptions,
} from './bulk-options.js';
export type { DeadLetterFilter } from './dead-letter-filter.js';
export type { DeadLetterGroup, DeadLetterGroups } from './dead-letter-groups.js';
export type { EditResult } from './edit-payload.js';

// Audit log
export {
  AUDITED_ACTIONS,
  type ActionOptions,
  type AuditEntries,
  type AuditEntry,
  type AuditOptions,
  type AuditedAction,
} from '../events/audit-log.js';

// The fleet and its Redis
export type { DoctorReport } from './doctor.js';
export { DOCTOR_CHECKS, type DoctorCheck, type DoctorFinding } from '../store/inspection.interface.js';
export type {
  Fleet,
  FleetOptions,
  FleetProcess,
  FleetReceiver,
  FleetTopic,
  ProcessTopic,
  WorkLateness,
  WorkMinute,
} from './fleet.js';
export type { ReceiverState } from '../fleet/receivers.js';
export type { FleetError, FleetEvent, FleetEvents, FleetGap, FleetOrigin } from '../events/fleet-event.js';

// This process
export type { AbandonedRun, AbandonedRuns } from '../fleet/abandoned-run.interface.js';
export type {
  ConnectionHealth,
  HealthCheckOptions,
  HealthReport,
  HealthStatus,
  OverdueMessages,
  SessionHealth,
  TopicHealth,
} from '../monitoring/health-report.interface.js';
export type {
  MetricsReading,
  TopicBacklog,
  TopicConsumption,
  TopicReading,
} from '../monitoring/delay-queue-metrics.interface.js';
