import { describe } from '../../checks/describe.js';
import { isPlainObject } from '../../checks/kinds.js';
import { type Rules, applyRules, integer, orElse } from '../../checks/rules.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import type { DelayedMessage } from '../../messages/delayed-message.interface.js';
import { hasEmit } from './client-of.js';
import type { ForwardOptions } from './forward-options.interface.js';
import type { ForwardTarget } from './forward-target.js';

/**
 * Checks where messages are forwarded to; whether the application has the client is known only once it has booted.
 *
 * @param name such as `topics['order.timeout'].forward`
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

/** As Nest compares them: an object by all that is in it. */
function isPattern(pattern: unknown): pattern is ForwardOptions['pattern'] {
  if (typeof pattern === 'object') return isPlainObject(pattern) && Object.keys(pattern).length > 0;
  return typeof pattern === 'string' ? pattern !== '' : Number.isFinite(pattern);
}
