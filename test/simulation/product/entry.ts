/** What a simulation takes of the product; it is bundled from this file. */
export { DelayQueueConnection } from '../../../lib/composition/delay-queue.connection.js';
export { resolveOptions } from '../../../lib/composition/resolve-options.js';
export { handlerSettings } from '../../../lib/consumer/handler-settings.js';
export { EmbeddedDriver } from '../../../lib/engines/embedded/embedded-driver.js';
export { EmbeddedScripts } from '../../../lib/engines/embedded/embedded-scripts.js';
export { EmbeddedData } from '../../../lib/engines/embedded/data/embedded-data.js';
export { fromBytes } from '../../../lib/engines/embedded/bytes.js';
export { servedTopics } from '../../../lib/gateway/access.js';
export { GatewayHandler } from '../../../lib/gateway/gateway.handler.js';
export { ROUTES } from '../../../lib/gateway/routes.js';
export { StoreBroker } from '../../../lib/store/store-broker.js';
export { toBrokerError } from '../../../lib/engines/redis/connection/redis-errors.js';
export { StoreKeys } from '../../../lib/store/keys.js';
export { ServerClock } from '../../../lib/store/server-clock.js';
export { RateLimitedError, RetryLaterError, UnrecoverableError } from '../../../lib/errors/handling.errors.js';
export { BullmqImport, BullmqQueue, ImportGoal } from '../../../tools/import-bullmq/index.js';
