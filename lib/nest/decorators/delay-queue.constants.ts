/** Metadata keys of the marks that decorators leave on classes. */
export const DELAYED_HANDLER_METADATA = 'delay-queue:handler';
export const RECURRING_HANDLER_METADATA = 'delay-queue:recurring-handler';
export const ON_DEAD_LETTER_METADATA = 'delay-queue:on-dead-letter';

/**
 * Nest's own mark of providers that something from outside calls, such as WebSocket gateways. Nest makes scoped global
 * enhancers for them as it does for controllers.
 */
export const ENTRY_PROVIDER_METADATA = '__entryProvider__';

/** Name of the connection of a module that was given none. */
export const DEFAULT_CONNECTION = 'default';
