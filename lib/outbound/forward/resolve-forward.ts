import { describe } from '../../checks/describe.js';
import { isPlainObject } from '../../checks/kinds.js';
import { applyRules, integer, orElse, type Rules } from '../../checks/rules.js';
import { ConfigurationError, InvalidArgumentError } from '../../errors/options.errors.js';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';
import type { ForwardClient, ForwardOptions } from './forward-options.interface.js';

/** Finds everything that an application provides under a token; `undefined` for a provider without a single instance. */
export type FindProvided = (token: unknown) => readonly unknown[];

/**
 * Returns the client that messages are forwarded through.
 *
 * @param name the option's, such as `topics['order.timeout'].forward`
 * @throws ConfigurationError if the application has none, or several, or if the client cannot emit events
 */
export function clientOf(name: string, { client }: Pick<ForwardTarget, 'client'>, find: FindProvided): ForwardClient {
  const found = hasEmit(client) ? [client] : [...new Set(find(client))];
  const wrong = whyUnusable(found);
  if (wrong === undefined) return found[0] as ForwardClient;
  const shown =
    typeof client === 'string' ? `'${client}'` : typeof client === 'symbol' ? String(client) : clientName(client);
  throw new ConfigurationError(`${name}.client is ${shown}, ${wrong}`);
}

/** Whether a value is a client itself, not a token for one. */
function hasEmit(client: unknown): client is ForwardClient {
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
  // The gRPC client has the methods of all clients, but they fail.
  return 'getService' in found ? 'which is a client of gRPC, and gRPC has no events. Call it in a handler.' : undefined;
}

/** Target of forwarded messages, checked and with all defaults filled in. */
export type ForwardTarget = Readonly<Required<ForwardOptions>>;

/** Returns its name in logs and errors. */
export function nameOf({ client }: Pick<ForwardTarget, 'client'>): string {
  return `forward to ${clientName(client)}`;
}

function clientName(client: ForwardTarget['client']): string {
  if (typeof client === 'string') return client;
  if (typeof client === 'symbol') return client.description ?? 'a client';
  return typeof client === 'function' ? client.name : client.constructor.name;
}

/**
 * Checks the options for forwarding; whether the application has the client is known only once it has booted.
 *
 * @param name the option's, such as `topics['order.timeout'].forward`
 * @throws InvalidArgumentError
 */
export function resolveForward(name: string, options: ForwardOptions): ForwardTarget {
  if (!isPlainObject(options)) {
    throw new InvalidArgumentError(`${name} must be an object with client and pattern. Given: ${typeof options}.`);
  }
  return Object.freeze(applyRules(FORWARD_RULES, name, options));
}

const FORWARD_RULES = {
  client: (name, client) => {
    if (isToken(client) || hasEmit(client)) return client;
    throw new InvalidArgumentError(
      `${name} must be what a ClientProxy of @nestjs/microservices is provided as, such as the name in ClientsModule.register(), or the ` +
        `client itself. What was given is not shown, since it may hold a secret.`,
    );
  },
  pattern: (name, pattern) => {
    if (isPattern(pattern)) return pattern;
    throw new InvalidArgumentError(
      `${name} must be the event that is emitted, as in @EventPattern(): a text, a number or an object. Given: ${describe(pattern)}.`,
    );
  },
  data: orElse(
    (name, data) => {
      if (typeof data === 'function') return data;
      throw new InvalidArgumentError(
        `${name} must be a function that makes the data of a message. Given: ${describe(data)}.`,
      );
    },
    ({ payload }: DelayedMessage) => payload,
  ),
  concurrency: orElse(integer(1, 1000), 20),
} satisfies Rules<ForwardOptions>;

function isToken(client: unknown): client is string | symbol | (abstract new () => unknown) {
  return typeof client === 'symbol' || typeof client === 'function' || (typeof client === 'string' && client !== '');
}

/** Whether a value is a valid pattern; Nest compares an object by its whole content. */
function isPattern(pattern: unknown): pattern is ForwardOptions['pattern'] {
  if (typeof pattern === 'object') return isPlainObject(pattern) && Object.keys(pattern).length > 0;
  return typeof pattern === 'string' ? pattern !== '' : Number.isFinite(pattern);
}
