import type { DelayQueueModuleOptions } from './delay-queue-options.interface.js';
import type { RedisSettings } from '../broker/redis/redis-settings.js';
import type { ConsumerSettings } from '../consumer/consumer-context.js';
import type { DelayQueueMiddleware } from '../middleware/middleware.interface.js';
import type { DelayQueueMetrics } from '../monitoring/delay-queue-metrics.interface.js';
import type { TopicSettings } from '../topics/topic-settings.interface.js';

/** The module's options, checked and with all defaults filled in. Times in milliseconds. */
export interface ResolvedOptions {
  /** Name of the connection. */
  readonly connection: string;
  /** As the application gave them. */
  readonly given: DelayQueueModuleOptions;
  readonly redis: RedisSettings;
  readonly prefix: string;
  readonly publishTimeout: number;
  /** `undefined`: this process only publishes. */
  readonly consumer: (ConsumerSettings & { readonly lease: number }) | undefined;
  /** The first is the outermost. */
  readonly middleware: readonly DelayQueueMiddleware[];
  /** `undefined`: nothing is measured. */
  readonly metrics: DelayQueueMetrics | undefined;
  /** `undefined`: this process does not tell the fleet what it does. */
  readonly fleetEvents: { readonly maxLength: number } | undefined;
  /** Topics that have settings of their own. */
  readonly topics: readonly string[];
  readonly topicSettings: (topic: string) => TopicSettings;
}
