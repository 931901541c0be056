import { DelayQueueError } from './delay-queue.error.js';
import { defineKind } from './kinds.js';

/**
 * The application is set up in a way that cannot work. Thrown while it boots, when a topic is first used, or where middleware
 * breaks its rules.
 *
 * @publicApi
 */
export class ConfigurationError extends DelayQueueError {
  static {
    defineKind(this, 'CONFIGURATION');
  }

  readonly code = 'CONFIGURATION';
}
