/** Injection token of the ioredis client that the module sends its commands through. */
export const DELAY_QUEUE_REDIS = Symbol('DELAY_QUEUE_REDIS');

/** Injection token of the broker. */
export const DELAY_QUEUE_BROKER = Symbol('DELAY_QUEUE_BROKER');

/** Injection token of the options with all defaults filled in. */
export const DELAY_QUEUE_RESOLVED_OPTIONS = Symbol('DELAY_QUEUE_RESOLVED_OPTIONS');

/** Injection token of what this process knows of its topics. */
export const DELAY_QUEUE_TOPICS = Symbol('DELAY_QUEUE_TOPICS');

/** Metadata key on decorated methods. */
export const DELAYED_HANDLER_METADATA = 'delay-queue:handler';

/** Context of all log lines. */
export const LOG_CONTEXT = 'DelayQueue';
