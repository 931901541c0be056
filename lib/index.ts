// The public API, beside the types of operators in `admin/index.ts`. What is named in neither may change at any time.

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
export type { DelayQueueAsyncOptions, DelayQueueOptionsFactory } from './nest/module/delay-queue.module.js';

export {
  InjectDelayQueueAdmin,
  InjectDelayQueueConsumers,
  InjectDelayQueueEvents,
  InjectDelayQueueHealth,
  InjectDelayQueueProducer,
  InjectDelayQueueReceiver,
  InjectDelayQueueRedis,
  InjectDelayQueueSchedules,
} from './nest/decorators/inject.decorators.js';

// Producing
export { DelayQueueProducer } from './producer/delay-queue.producer.js';
export type {
  ConfirmedPublish,
  PublishedMessage,
  PublishOptions,
  TransactionOptions,
  WrittenToOutbox,
} from './messages/publish-options.interface.js';
export type { ReplicaOptions } from './messages/replicas.js';
export type { PayloadSerializer } from './messages/serializer.js';
export { type Topic, type TopicRef, topic } from './messages/topic.js';
export type { DelayQueueTopics } from './messages/payload-types.js';
export type { HandledPayload, NamedTopic, PublishedPayload, TopicName } from './messages/payload-types.js';
export type { MessageRef } from './messages/message-ref.js';
export type { CancelResult, RescheduleResult } from './store/messages/change-message.js';
export type { CancelTaggedResult } from './producer/message-changes.js';

// Handling
export {
  DelayedHandler,
  type HandlerDecorator,
  type HandlerMethodFor,
} from './nest/decorators/delayed-handler.decorator.js';
export { OnDeadLetter, type OnDeadLetterOptions } from './nest/decorators/on-dead-letter.decorator.js';
export type { DeadLetter } from './messages/delayed-message.interface.js';
export { Message, Payload } from './nest/decorators/parameter.decorators.js';
export { DelayQueueContext } from './nest/handlers/delay-queue-context.js';
export type { HandlerOptions } from './nest/decorators/handler-options.interface.js';
export type { DelayedMessage } from './messages/delayed-message.interface.js';
export type { Backoff, StoredBackoff } from './messages/backoff.js';
export type { Duration } from './time/duration.js';

// Receiving
export { DelayQueueReceiver, type ReceiveOptions } from './consumer/delay-queue.receiver.js';
export type { ExtendResult, ReceivedMessage } from './consumer/pulling/received-message.js';
export type { ReceivedOutcome } from './consumer/pulling/received-outcome.js';

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
  checkRedis,
  ConnectedDelayQueueAdmin,
  createDelayQueueAdmin,
  type DelayQueueAdminOptions,
} from './composition/create-delay-queue-admin.js';

// This process's own intake
export { DelayQueueConsumers } from './consumer/delay-queue.consumers.js';

// Health
export { DelayQueueHealth } from './monitoring/delay-queue.health.js';

// Metrics
export type { DelayQueueMetrics, HandleOutcome, PublishOutcome } from './monitoring/delay-queue-metrics.interface.js';

// Events
export type {
  BackgroundError,
  BackgroundErrorSource,
  DeliveryEvent,
  EndedDelivery,
  MissedEvent,
  QueueEvents,
} from './events/queue-events.interface.js';
export type { FailedAttempt } from './messages/failure.js';
export type { Failure, FailureCause, FailureReason } from './messages/failure.js';
export type { PayloadIssue } from './checks/payload-issues.js';

// Pushing and forwarding
export type { ForwardClient, ForwardOptions } from './outbound/forward/forward-options.interface.js';
export type { PushOptions } from './outbound/push/push-options.interface.js';

// Errors
export {
  AuditFailedError,
  BrokerUnavailableError,
  EventsDroppedError,
  IntakeOvertakenError,
  NoShutdownHooksError,
  ReceiverUnavailableError,
  UnhandledTopicError,
} from './errors/operation.errors.js';
export { ConfigurationError, InvalidArgumentError } from './errors/options.errors.js';
export { ForwardFailedError, PushFailedError } from './errors/handling.errors.js';
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
  TransactionRequiredError,
} from './errors/publishing.errors.js';
export { PublishManyError } from './messages/publish-many.error.js';
