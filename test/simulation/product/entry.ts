/** What a simulation takes of the product; it is bundled from this file. */
export { DelayQueueConnection } from '../../../lib/composition/delay-queue.connection.js';
export { resolveOptions } from '../../../lib/composition/resolve-options.js';
export { handlerSettings } from '../../../lib/consumer/handler-settings.js';
export { EmbeddedCalls } from '../../../lib/broker/embedded/embedded-calls.js';
export { EmbeddedData } from '../../../lib/broker/embedded/data/embedded-data.js';
export { fromBytes } from '../../../lib/broker/embedded/bytes.js';
export { RedisOperations } from '../../../lib/broker/redis/operations/redis-operations.js';
export { toBrokerError } from '../../../lib/broker/redis/connection/redis-errors.js';
export { PartitionWatchers } from '../../../lib/broker/redis/partition-watchers.js';
export { RedisKeys } from '../../../lib/broker/redis/redis-keys.js';
export { decodeSessionSignal } from '../../../lib/broker/redis/records/fleet-records.js';
export { decodeSignal } from '../../../lib/broker/redis/records/replies.js';
export { ServerClock } from '../../../lib/broker/server-clock.js';
export { RateLimitedError, RetryLaterError, UnrecoverableError } from '../../../lib/errors/handling.errors.js';
