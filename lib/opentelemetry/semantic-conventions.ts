// Names of the semantic conventions for messaging, copied from the incubating part of @opentelemetry/semantic-conventions 1.45,
// which asks libraries to do so. Those for messaging are in development; `error.type` is stable.

export const MESSAGING_SYSTEM_NAME = 'messaging.system.name';
/** Older name of the one above, by which most backends still recognize a queue. */
export const MESSAGING_SYSTEM = 'messaging.system';
export const MESSAGING_OPERATION_NAME = 'messaging.operation.name';
export const MESSAGING_OPERATION_TYPE = 'messaging.operation.type';
export const MESSAGING_DESTINATION_NAME = 'messaging.destination.name';
export const MESSAGING_DESTINATION_PARTITION_ID = 'messaging.destination.partition.id';
export const MESSAGING_MESSAGE_ID = 'messaging.message.id';
export const MESSAGING_BATCH_MESSAGE_COUNT = 'messaging.batch.message_count';
export const ERROR_TYPE = 'error.type';

/** Name of the system, and prefix of names that only this system has. */
export const SYSTEM = 'nestjs_delay_queue';

export const MESSAGE_ATTEMPT = `${SYSTEM}.message.attempt`;
export const SETTLE_OUTCOME = `${SYSTEM}.settle.outcome`;
export const SETTLE_REASON = `${SYSTEM}.settle.reason`;
export const SETTLE_STATUS = `${SYSTEM}.settle.status`;
