import { DelayQueueError, defineKind } from './delay-queue.error.js';

/**
 * The application is set up in a way that cannot work. Thrown during the boot, at the first use of a topic, or if middleware
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

/**
 * An argument is outside its bounds. Thrown before anything reaches Redis.
 *
 * @publicApi
 */
export class InvalidArgumentError extends DelayQueueError {
  static {
    defineKind(this, 'INVALID_ARGUMENT');
  }

  readonly code = 'INVALID_ARGUMENT';
}
