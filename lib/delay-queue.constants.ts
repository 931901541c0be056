/** Metadata key on decorated methods. */
export const DELAYED_HANDLER_METADATA = 'delay-queue:handler';

/** Name of the connection of a module that was given none. */
export const DEFAULT_CONNECTION = 'default';

const OPTIONS_TOKEN = 'DELAY_QUEUE_OPTIONS';

/** Injection token of a module's options with all defaults filled in. */
export function optionsToken(connection: string): string {
  return `${OPTIONS_TOKEN}(${connection})`;
}

export function isOptionsToken(token: unknown): boolean {
  return typeof token === 'string' && token.startsWith(OPTIONS_TOKEN);
}

/** Context of all log lines. */
export const LOG_CONTEXT = 'DelayQueue';
