/** What a simulation takes of the product; it is bundled from this file. */
export { DelayQueueConnection } from '../../../lib/composition/delay-queue.connection.js';
export { resolveOptions } from '../../../lib/composition/resolve-options.js';
export { handlerSettings } from '../../../lib/consumer/handler-settings.js';
export { EmbeddedCalls } from '../../../lib/engines/embedded/embedded-calls.js';
export { EmbeddedData } from '../../../lib/engines/embedded/data/embedded-data.js';
export { fromBytes } from '../../../lib/engines/embedded/bytes.js';
export { RedisOperations } from '../../../lib/store/operations/operations.js';
export { toBrokerError } from '../../../lib/engines/redis/connection/redis-errors.js';
export { PartitionWatchers } from '../../../lib/store/partition-watchers.js';
export { RedisKeys } from '../../../lib/store/keys.js';
export { decodeSessionSignal } from '../../../lib/store/records/fleet-records.js';
export { decodeSignal } from '../../../lib/store/records/replies.js';
export { ServerClock } from '../../../lib/store/server-clock.js';
export { RateLimitedError, RetryLaterError, UnrecoverableError } from '../../../lib/errors/handling.errors.js';
