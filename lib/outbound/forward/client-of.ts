import { ConfigurationError } from '../../errors/options.errors.js';
import type { ForwardClient } from './forward-options.interface.js';
import { type ForwardTarget, clientName } from './forward-target.js';

/** All that an application provides as something; what has no instance of its own is `undefined`. */
export type FindProvided = (token: unknown) => readonly unknown[];

/**
 * The client that messages are forwarded through.
 *
 * @param name such as `topics['order.timeout'].forward`
 * @throws ConfigurationError if the application has none, or several, or if it emits no events
 */
export function clientOf(name: string, { client }: Pick<ForwardTarget, 'client'>, find: FindProvided): ForwardClient {
  const found = hasEmit(client) ? [client] : [...new Set(find(client))];
  const wrong = whyUnusable(found);
  if (wrong === undefined) return found[0] as ForwardClient;
  const shown =
    typeof client === 'string' ? `'${client}'` : typeof client === 'symbol' ? String(client) : clientName(client);
  throw new ConfigurationError(`${name}.client is ${shown}, ${wrong}`);
}

/** Whether a value is used as a client, and not as what one is provided as. */
export function hasEmit(client: unknown): client is ForwardClient {
  return typeof client === 'object' && typeof (client as ForwardClient | null)?.emit === 'function';
}

function whyUnusable([found, ...others]: readonly unknown[]): string | undefined {
  if (found === undefined) {
    return 'and the application provides no single instance as that. Register it with ClientsModule.register(), or in a provider that is neither request-scoped nor transient.';
  }
  if (others.length > 0) {
    return 'and several modules provide one each. Register it once, in a module that the others import, or give the client itself.';
  }
  if (!hasEmit(found)) return 'and what the application provides as that has no emit(), as every ClientProxy has.';
  if ('addListener' in found) {
    return 'which tells listeners in this process and is no client of Nest: nothing says when they are done. Call it in a handler.';
  }
  // The client of gRPC has the methods of all clients, and fails in them.
  return 'getService' in found ? 'which is a client of gRPC, and gRPC has no events. Call it in a handler.' : undefined;
}
