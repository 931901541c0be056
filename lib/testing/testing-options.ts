import type { DelayQueueModuleOptions } from '../connection/delay-queue-options.interface.js';
import { MAX_DELAY } from '../checks/limits.js';
import { resolveOptions } from '../connection/resolve-options.js';
import type { ResolvedOptions } from '../connection/resolved-options.interface.js';

/**
 * An application's options as they count in a test. Heartbeats are years apart: nothing may tick while nothing happens, else
 * a month would take as long as all of its heartbeats.
 *
 * @throws ConfigurationError
 */
export function testingOptions(given: DelayQueueModuleOptions, connection: string): ResolvedOptions {
  const { consumer, ...resolved } = resolveOptions({ ...given, redis: 'redis://none' }, connection);
  return Object.freeze({ ...resolved, given, consumer: consumer && { ...consumer, heartbeat: MAX_DELAY } });
}
