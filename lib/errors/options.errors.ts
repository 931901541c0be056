import { DelayQueueError, defineKind } from './delay-queue.error.js';

/**
 * The application is configured in a way that can't work. Thrown at boot, at the first use of a topic, or if middleware breaks its rules.
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
 * An argument is out of bounds. Nothing was sent.
 *
 * @publicApi
 */
export class InvalidArgumentError extends DelayQueueError {
  static {
    defineKind(this, 'INVALID_ARGUMENT');
  }

  readonly code = 'INVALID_ARGUMENT';
}
