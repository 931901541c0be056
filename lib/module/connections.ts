import { isDeepStrictEqual } from 'node:util';
import { didYouMean } from '../checks/nearest.js';
import { isOptionsToken } from '../decorators/delay-queue.constants.js';
import { ConfigurationError } from '../errors/options.errors.js';
import type { ResolvedOptions } from '../connection/resolved-options.interface.js';

/** The options of every `DelayQueueModule` of the application. */
export function connectionsAmong(
  providers: readonly { readonly token: unknown; readonly instance: unknown }[],
): ResolvedOptions[] {
  return providers.filter(({ token }) => isOptionsToken(token)).map(({ instance }) => instance as ResolvedOptions);
}

/**
 * Nest makes a module of each call of `forRoot()`. Several of one connection have to agree.
 *
 * @throws ConfigurationError where their options differ
 */
export function assertUnambiguous(connections: readonly ResolvedOptions[]): void {
  for (const { connection, given } of connections) {
    const first = connections.find((other) => other.connection === connection);
    if (isDeepStrictEqual(first?.given, given)) continue;
    throw new ConfigurationError(
      `DelayQueueModule is imported more than once as connection '${connection}', with different options (functions and ` +
        `instances are equal only if they are the same). Import it once, or give each a name of its own: forRoot({ name }).`,
    );
  }
}

/** Whether a module is the first of its connection, which is the one that consumes. */
export function isFirst(options: ResolvedOptions, connections: readonly ResolvedOptions[]): boolean {
  return connections.find(({ connection }) => connection === options.connection) === options;
}

/**
 * @param where what asks for it, such as `@DelayedHandler on OrderService.onTimeout`
 * @throws ConfigurationError where the connection does not exist
 */
export function assertConnection(where: string, connection: string, connections: readonly ResolvedOptions[]): void {
  const known = new Set(connections.map((options) => options.connection));
  if (known.has(connection)) return;
  throw new ConfigurationError(
    `${where}: there is no connection '${connection}'.${didYouMean(connection, known)} Known connections: ` +
      `${[...known].join(', ')}. Choose one of them as its 'connection', or import DelayQueueModule.forRoot({ name: '${connection}' }).`,
  );
}
