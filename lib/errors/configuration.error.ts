import { DelayQueueError } from './delay-queue.error.js';

/**
 * The application is set up in a way that cannot work. Thrown while it boots, or when a topic is first used.
 *
 * @publicApi
 */
export class ConfigurationError extends DelayQueueError {
  readonly code = 'CONFIGURATION';
}
