/** Metadata keys on decorated methods. */
export const DELAYED_HANDLER_METADATA = 'delay-queue:handler';
export const ON_DEAD_LETTER_METADATA = 'delay-queue:on-dead-letter';

/**
 * Nest's own mark of providers that something from outside calls, as it does controllers: such as WebSocket gateways. Without
 * it, enhancers that are scoped and global would not be made for them.
 */
export const ENTRY_PROVIDER_METADATA = '__entryProvider__';

/** Name of the connection of a module that was given none. */
export const DEFAULT_CONNECTION = 'default';

const OPTIONS_TOKEN = 'DELAY_QUEUE_OPTIONS';
const SCHEDULER_TOKEN = 'DelayQueueScheduler';

/** Injection token of a module's options with all defaults filled in. */
export function optionsToken(connection: string): string {
  return `${OPTIONS_TOKEN}(${connection})`;
}

export function isOptionsToken(token: unknown): boolean {
  return typeof token === 'string' && token.startsWith(OPTIONS_TOKEN);
}

/** Injection token of what ties a connection to the application's life. */
export function schedulerToken(connection: string): string {
  return `${SCHEDULER_TOKEN}(${connection})`;
}

export function isSchedulerToken(token: unknown): boolean {
  return typeof token === 'string' && token.startsWith(SCHEDULER_TOKEN);
}

/** Context of all log lines. */
export const LOG_CONTEXT = 'DelayQueue';
