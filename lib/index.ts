// The public API. What is not named here may change at any time.

// Module
export { DELAY_QUEUE_REDIS } from './nest/decorators/delay-queue.tokens.js';
export { DelayQueueEvents } from './events/delay-queue.events.js';
export { DelayQueueModule } from './nest/module/delay-queue.module.js';
export type {
  ConsumerOptions,
  DeadLetterOptions,
  DelayQueueModuleOptions,
  FinishedOptions,
  FleetEventsOptions,
  HistoryOptions,
  MaxInFlightOptions,
  RateLimitOptions,
  RedisSettings,
  TopicOptions,
} from './composition/delay-queue-options.interface.js';
export type {
  DelayQueueAsyncOptions,
  DelayQueueOptionsFactory,
} from './nest/module/delay-queue-async-options.interface.js';

export {
  InjectDelayQueueAdmin,
  InjectDelayQueueConsumers,
  InjectDelayQueueEvents,
  InjectDelayQueueHealth,
  InjectDelayQueueProducer,
  InjectDelayQueueRedis,
  InjectDelayQueueSchedules,
} from './nest/decorators/inject.decorators.js';

// Producing
export { DelayQueueProducer } from './producer/delay-queue.producer.js';
export type { PublishedMessage, PublishOptions } from './messages/publish-options.interface.js';
export type { ReplicaOptions } from './messages/replicas.js';
export type { PayloadSerializer } from './messages/serializer.js';
export { type Topic, type TopicRef, topic } from './messages/topic.js';
export type { DelayQueueTopics } from './messages/delay-queue-topics.interface.js';
export type { HandledPayload, NamedTopic, PublishedPayload, TopicName } from './messages/payload-types.js';
export type { CancelResult } from './broker/broker.interface.js';
export type { CancelTaggedResult } from './producer/message-changes.js';

// Handling
export {
  DelayedHandler,
  type HandlerDecorator,
  type HandlerMethodFor,
} from './nest/decorators/delayed-handler.decorator.js';
export { OnDeadLetter, type OnDeadLetterOptions } from './nest/decorators/on-dead-letter.decorator.js';
export type { DeadLetter } from './messages/dead-letter.interface.js';
export { Message, Payload } from './nest/decorators/parameter.decorators.js';
export { DelayQueueContext } from './nest/handlers/delay-queue-context.js';
export type { HandlerOptions } from './nest/decorators/handler-options.interface.js';
export type { DelayedMessage } from './messages/delayed-message.interface.js';
export type { Backoff, StoredBackoff } from './messages/backoff.js';
export type { Duration } from './time/duration.js';

// Schedules
export { DelayQueueSchedules } from './schedules/delay-queue.schedules.js';
export {
  RecurringHandler,
  type RecurringHandlerOptions,
  type RecurringPayload,
} from './nest/decorators/recurring-handler.decorator.js';
export type { PruneOptions, Schedule, ScheduledMessageOptions, ScheduleRule } from './schedules/schedule.interface.js';
export type { LocalTime } from './time/local-time.js';

// Around publishing, handling and settling
export type { DelayQueueMiddleware, DeliveryOutcome, OutgoingMessage } from './middleware/middleware.interface.js';
export type { SettleStatus } from './messages/settle-status.js';

// Operating
export { DelayQueueAdmin } from './admin/delay-queue.admin.js';
export {
  AUDITED_ACTIONS,
  type ActionOptions,
  type AuditEntries,
  type AuditEntry,
  type AuditOptions,
  type AuditedAction,
} from './events/audit-log.js';
export type {
  Agenda,
  AgendaBucket,
  AgendaCounts,
  AgendaOptions,
  TopicAgenda,
  UnreachablePartitions,
} from './admin/agenda.js';
export {
  checkRedis,
  ConnectedDelayQueueAdmin,
  createDelayQueueAdmin,
  type DelayQueueAdminOptions,
} from './composition/create-delay-queue-admin.js';
export type {
  BulkOptions,
  BulkProgress,
  BulkResult,
  CancelManyOptions,
  CancelManyResult,
  ClearCounts,
  ClearOptions,
  RemoveOptions,
  RemoveResult,
  RequeueOptions,
  RequeueResult,
  RescheduleManyResult,
  RunNowManyResult,
} from './admin/bulk-options.js';
export type { DeadLetterFilter } from './admin/dead-letter-filter.js';
export type { DeadLetterGroup, DeadLetterGroups } from './admin/dead-letter-groups.js';
export type { DoctorReport } from './admin/doctor.js';
export { DOCTOR_CHECKS, type DoctorCheck, type DoctorFinding } from './broker/inspection.interface.js';
export { EXPLAIN_CAUSES, type ExplainCause } from './admin/explain-causes.js';
export type { ExplainFacts, Explanation } from './admin/explain.js';
export type {
  Fleet,
  FleetOptions,
  FleetProcess,
  FleetTopic,
  ProcessTopic,
  WorkLateness,
  WorkMinute,
} from './admin/fleet.js';
export type { MessageDetails } from './admin/message-details.js';
export type { MessageFilter } from './admin/message-filter.js';
export type { SearchOptions, SearchPage } from './admin/search.js';
export type { PeekOptions, PeekPage, PeekState } from './admin/peek.js';
export type { PartitionStatus, TopicCounters, TopicCounts, TopicStats } from './admin/topic-stats.js';

// This process's own intake
export { DelayQueueConsumers } from './consumer/delay-queue.consumers.js';

// Health
export { DelayQueueHealth } from './monitoring/delay-queue.health.js';
export type { AbandonedRun, AbandonedRuns } from './fleet/abandoned-run.interface.js';
export type {
  ConnectionHealth,
  SessionHealth,
  HealthCheckOptions,
  HealthReport,
  HealthStatus,
  OverdueMessages,
  TopicHealth,
} from './monitoring/health-report.interface.js';

// Metrics
export type {
  DelayQueueMetrics,
  HandleOutcome,
  MetricsReading,
  PublishOutcome,
  TopicBacklog,
  TopicConsumption,
  TopicReading,
} from './monitoring/delay-queue-metrics.interface.js';

// Events
export type { FleetError, FleetEvent, FleetEvents, FleetGap, FleetOrigin } from './events/fleet-event.js';
export type {
  BackgroundError,
  BackgroundErrorSource,
  DeliveryEvent,
  EndedDelivery,
  MissedEvent,
  QueueEvents,
} from './events/queue-events.interface.js';
export type { FailedAttempt } from './messages/failed-attempt.js';
export type { Failure, FailureCause, FailureReason } from './messages/failure.js';
export type { PayloadIssue } from './checks/payload-issues.js';

// Errors
export {
  AuditFailedError,
  BrokerUnavailableError,
  EventsDroppedError,
  IntakeOvertakenError,
  NoShutdownHooksError,
  UnhandledTopicError,
} from './errors/operation.errors.js';
export { ConfigurationError, InvalidArgumentError } from './errors/options.errors.js';
export { DelayQueueError } from './errors/delay-queue.error.js';
export {
  DeliveryAbortedError,
  HandlerOverrunError,
  HandlerTimeoutError,
  type RateLimitScope,
  RateLimitedError,
  RetryLaterError,
  UnrecoverableError,
} from './errors/handling.errors.js';
export {
  DuplicateMessageError,
  type FinishedOutcome,
  InvalidPayloadError,
  NotReplicatedError,
  PayloadTooLargeError,
  SchemaError,
  SerializationError,
} from './errors/publishing.errors.js';
export { PublishManyError } from './messages/publish-many.error.js';
