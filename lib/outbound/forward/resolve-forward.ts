import { describe } from '../../checks/describe.js';
import { assertInteger, assertOptions, isPlainObject } from '../../checks/validate.js';
import { InvalidArgumentError } from '../../errors/options.errors.js';
import type { ForwardClient, ForwardOptions } from './forward-options.interface.js';

const OPTIONS = ['client', 'pattern', 'data', 'concurrency'] as const satisfies readonly (keyof ForwardOptions)[];

/** Far below the concurrency of a process, so that a client that answers no more leaves slots to other topics. */
const DEFAULT_CONCURRENCY = 20;
const MAX_CONCURRENCY = 100_000;

/** Under what an application provides a client. */
export type ClientToken = Exclude<ForwardOptions['client'], ForwardClient>;

/** Where messages are forwarded to, checked. */
export interface ForwardTarget {
  readonly client: ForwardOptions['client'];
  readonly pattern: ForwardOptions['pattern'];
  readonly data: NonNullable<ForwardOptions['data']> | undefined;
  readonly concurrency: number;
}

/** @throws InvalidArgumentError */
export function resolveForward(name: string, options: unknown): ForwardTarget {
  if (!isPlainObject(options)) {
    throw new InvalidArgumentError(`${name} must be an object with client and pattern. Given: ${typeof options}.`);
  }
  assertOptions(name, options, OPTIONS);
  const { client, pattern, data, concurrency = DEFAULT_CONCURRENCY } = options;
  if (!isClient(client) && !isToken(client)) {
    throw new InvalidArgumentError(
      `${name}.client must be a ClientProxy, or the token of one: a name, a symbol or a class. Given: ${kindOf(client)}.`,
    );
  }
  if (!isPattern(pattern)) {
    throw new InvalidArgumentError(
      `${name}.pattern must be a text or an object, and not an empty one, as in client.emit(pattern, data). Given: ${describe(pattern)}.`,
    );
  }
  if (data !== undefined && typeof data !== 'function') {
    throw new InvalidArgumentError(`${name}.data must be a function of the message. Given: ${describe(data)}.`);
  }
  assertInteger(`${name}.concurrency`, concurrency, { min: 1, max: MAX_CONCURRENCY });
  return Object.freeze({ client, pattern, data: data as ForwardTarget['data'], concurrency });
}

/** Whether it can emit events. */
export function isClient(client: unknown): client is ForwardClient {
  return typeof client === 'object' && client !== null && typeof (client as ForwardClient).emit === 'function';
}

function isToken(client: unknown): client is ClientToken {
  return (typeof client === 'string' && client !== '') || typeof client === 'symbol' || typeof client === 'function';
}

function isPattern(pattern: unknown): pattern is ForwardOptions['pattern'] {
  if (typeof pattern === 'string') return pattern !== '';
  return isPlainObject(pattern) && Object.keys(pattern).length > 0;
}

/** A client may have a password somewhere, so it is not shown. */
function kindOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return describe(value);
  return 'an object without a function emit()';
}
